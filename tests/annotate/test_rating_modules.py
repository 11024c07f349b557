"""The rating page names every module that its script imports, so that the browser fetches them at once."""

import re
from pathlib import Path

from django.conf import settings

from annotate.templatetags.rating import MODULES, rating_modules

SCRIPTS = Path(settings.BASE_DIR) / "static" / "js"
IMPORT = re.compile(r'^import .*?from "(\.[^"]+)";', re.MULTILINE | re.DOTALL)


def imported_by(path: Path) -> set[Path]:
    """Directly or not; what is imported only later, when there is time, does not belong to them."""
    direct = {(path.parent / found).resolve() for found in IMPORT.findall(path.read_text())}
    return direct.union(*(imported_by(each) for each in direct))


def test_every_module_of_the_rating_page_is_named_before_it_is_asked_for() -> None:
    named = [(SCRIPTS / f"{name}.js").resolve() for name in MODULES]
    rating, reading = SCRIPTS / "rate.js", (SCRIPTS / "rate" / "passage.js").resolve()
    waited_for, after = imported_by(rating), {reading} | imported_by(reading)
    assert set(named) == waited_for | after
    assert set(named[: len(waited_for)]) == waited_for, "what rating waits for comes first"
    assert len(named) == len(set(named))
    assert rating_modules().count('rel="modulepreload"') == len(MODULES)
