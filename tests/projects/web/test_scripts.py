"""A page names every module of its scripts, so that the browser fetches them at once."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.template import Context, Template
from pytest_django import Settings

from projects.models import Membership
from projects.templatetags.scripts import list_modules
from tests.people import SignIn

SCRIPTS: Path = settings.BASE_DIR / "static" / "js"
NAMED = re.compile(r'<(link rel="modulepreload" href|script type="module" src)="[^"]*/js/([\w/]+)(?:\.\w+)?\.js"')
PLAIN = re.compile(r"""<script type="module" src="\{% static 'js/(\w+)\.js' %\}">""")


def read_imports(name: str) -> set[str]:
    source = (SCRIPTS / f"{name}.js").read_text(encoding="utf-8")
    paths = [line.rsplit('"', 2)[1] for line in source.splitlines() if line.startswith(("import ", "} from"))]
    return {((SCRIPTS / f"{name}.js").parent / path).resolve().relative_to(SCRIPTS).as_posix()[:-3] for path in paths}


def walk_imports(name: str) -> Iterator[str]:
    for each in read_imports(name):
        yield each
        yield from walk_imports(each)


def render(*tags: str) -> list[tuple[str, str]]:
    shown = Template("{% load scripts %}" + "".join(f"{{% {tag} %}}" for tag in tags)).render(Context())
    return [("script" if kind.startswith("script") else "link", name) for kind, name in NAMED.findall(shown)]


@pytest.mark.parametrize("name", sorted(path.relative_to(SCRIPTS).as_posix()[:-3] for path in SCRIPTS.rglob("*.js")))
def test_each_module_comes_after_those_that_it_imports(name: str) -> None:
    found = [path.removeprefix("js/").removesuffix(".js") for path in list_modules(f"js/{name}.js")]
    assert sorted(found) == sorted({*walk_imports(name), name})
    assert found[-1] == name
    for place, each in enumerate(found):
        assert read_imports(each) <= set(found[:place])


def test_a_page_names_each_module_once() -> None:
    found = render("module 'js/forms.js'", "module 'js/app.js'", "preload 'js/rate/passage.js'")
    names = [name for _, name in found]
    assert sorted(names) == sorted(set(names))
    assert [name for kind, name in found if kind == "script"] == ["forms", "app"]
    assert names.index("confirm") < names.index("forms") < names.index("theme") < names.index("app")
    assert names[-1] == "rate/passage"


def test_a_script_that_is_not_there_is_no_page() -> None:
    with pytest.raises(LookupError):
        list_modules("js/none.js")


def test_imports_that_change_while_scripts_are_written_are_named_without_a_restart(
    settings: Settings, tmp_path: Path
) -> None:
    settings.DEBUG, settings.STATICFILES_DIRS = True, [tmp_path]
    one = tmp_path / "js" / "one.js"
    one.parent.mkdir()
    one.write_text('import "./two.js";\n')
    one.with_name("two.js").write_text("")
    assert list_modules("js/one.js") == ("js/two.js", "js/one.js")
    one.write_text("")
    assert list_modules("js/one.js") == ("js/one.js",)


def test_a_script_is_named_by_a_plain_tag_only_where_it_imports_nothing() -> None:
    templates = settings.BASE_DIR / "templates"
    plain = {name for path in templates.rglob("*.html") for name in PLAIN.findall(path.read_text(encoding="utf-8"))}
    assert "tables" in plain
    assert {name for name in plain if read_imports(name)} == set()


def test_what_asks_before_a_form_is_sent_comes_first_on_every_page(client_of: SignIn, manager: Membership) -> None:
    shown = client_of(manager).get(f"/p/{manager.project.slug}/batches/").content.decode()
    found = [name for _, name in NAMED.findall(shown)]
    assert set(found[:4]) == {"forms", *walk_imports("forms")}
    assert found[3] == "forms"
    assert set(walk_imports("app")) <= set(found)
