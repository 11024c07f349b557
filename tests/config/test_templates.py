"""Templates are read as code is."""

from django.conf import settings
from django.template.loader import get_template

LONGEST_LINE = 140
"""What djangofmt is asked for; it breaks no tag, no sentence that is translated and no value of an attribute."""

LONGER = {"accessibility.html": 1}
"""How many lines may be longer: a translated sentence with a per cent sign, which {% translate %} alone can hold."""


def test_no_line_is_too_long_to_read() -> None:
    folder = settings.BASE_DIR / "templates"
    found = {
        path.relative_to(folder).as_posix(): n
        for path in sorted(folder.rglob("*.html"))
        if (n := sum(len(line) > LONGEST_LINE for line in path.read_text(encoding="utf-8").splitlines()))
    }
    assert found == LONGER


def test_each_template_compiles() -> None:
    folder = settings.BASE_DIR / "templates"
    found = [path.relative_to(folder).as_posix() for path in folder.rglob("*.html")]
    assert len(found) > 250
    for name in found:
        get_template(name)
