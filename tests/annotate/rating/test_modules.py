"""The rating page names every module that its script imports, so that the browser fetches them at once."""

import re
from pathlib import Path

from django.conf import settings

from annotate.templatetags.rating import RATING, READING, rating_modules

SCRIPTS = Path(settings.BASE_DIR) / "static" / "js"
IMPORT = re.compile(r'^import .*?from "(\.[^"]+)";', re.MULTILINE | re.DOTALL)


def imported_by(path: Path) -> set[Path]:
    """Directly or not; what is imported only later, when there is time, does not belong to them."""
    direct = {(path.parent / found).resolve() for found in IMPORT.findall(path.read_text())}
    return direct.union(*(imported_by(each) for each in direct))


def test_every_module_of_the_rating_page_is_named_before_it_is_asked_for() -> None:
    passage = (SCRIPTS / "rate" / "passage.js").resolve()
    waited_for = imported_by(SCRIPTS / "rate.js")
    assert named(RATING) == sorted(waited_for)
    assert named(READING) == sorted(({passage} | imported_by(passage)) - waited_for)
    shown = rating_modules()
    assert shown.count('rel="modulepreload"') == len(RATING) + len(READING)
    places = [shown.index(f"js/{name}.") for name in (*RATING, "rate", *READING)]
    assert places == sorted(places), "what rating waits for comes first"


def named(names: tuple[str, ...]) -> list[Path]:
    return sorted((SCRIPTS / f"{name}.js").resolve() for name in names)
