"""Catalogues: every sentence that annotators read, in templates and code, with its translations.

Babel reads and merges; nothing is asked of the system. `config.catalogues` compiles what is written here.
"""

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path

from babel.messages import Catalog, Message, pofile
from babel.messages.extract import extract
from django.conf import settings
from django.utils.translation.template import templatize

KEYWORDS = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop"), None),
    **dict.fromkeys(("ngettext", "ngettext_lazy", "counted"), (1, 2)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), ((1, "c"), 2)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), ((1, "c"), 2, 3)),
}
APPS = ("annotate", "config", "demo", "measures", "projects", "results")
ANNOTATORS_ROOMS = (
    "annotate/desk/*",
    "annotate/models/*",
    "annotate/onboarding/*",
    "annotate/payments/_*",
    "annotate/payments/entries_page.py",
    "annotate/qualification/_attempt_*",
    "annotate/qualification/admission.py",
    "annotate/qualification/attempt*",
    "annotate/qualification/results.py",
    "annotate/rating/*",
    "annotate/work/*",
    "config/navigation.py",
    "measures/rubric.py",
    "projects/access.py",
    "projects/accounts/*",
    "projects/language/*",
    "projects/models/*",
    "projects/people/invitations.py",
    "projects/people/join*",
    "projects/rubric/rubrics.py",
    "projects/web/*",
)
"""The rooms of code and of templates whose sentences annotators read, and the annotators' part of a few other rooms.

Any other room is the managers' and researchers': it is written in English, and nothing in it goes through gettext.
Templates in no room are annotators' too, but for a few parts.
"""
MANAGERS_PARTS = ("_chart_figure.html", "_file_refusal.html", "_job.html")
"""The templates in no room that only pages of managers and researchers have."""
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""A catalogue bears no time of its making: the same sentences are the same bytes."""


def read_sources() -> Catalog:
    """Every sentence that templates and code say to annotators."""
    catalog = _new_catalog()
    for path in _annotators_files():
        where = path.relative_to(settings.BASE_DIR).as_posix()
        source = path.read_text(encoding="utf-8")
        if path.suffix == ".html":
            source = "\n".join(line.strip() for line in templatize(source, origin=str(path)).splitlines())
        for _, message, comments, context in extract("python", io.BytesIO(source.encode()), KEYWORDS, ["Translators:"]):
            known = catalog.get(message if isinstance(message, str) else message[0], context)
            if known is not None and isinstance(known.id, tuple) and isinstance(message, tuple) and known.id != message:
                raise ValueError(f"{where}: “{message[0]}” has another plural elsewhere; a catalogue holds one.")
            catalog.add(message, auto_comments=comments, context=context)
    return catalog


def read_catalogue(language: str) -> Catalog:
    path = _folder(language) / "django.po"
    if not path.exists():
        return _new_catalog(language)
    with path.open("rb") as file:
        return pofile.read_po(file, locale=language, abort_invalid=True)


def merged(language: str, sources: Catalog) -> Catalog:
    """The sentences of the sources, each with its translation; no guess is made of what a new sentence means."""
    known, catalog = read_catalogue(language), _new_catalog(language)
    for message in sources:
        if not message.id:
            continue
        said = known.get(message.id, message.context)
        forms = said.string if said is not None and is_said(said, catalog.num_plurals) else None
        catalog.add(
            message.id,
            forms or (("",) * catalog.num_plurals if message.pluralizable else ""),
            flags=message.flags,
            auto_comments=message.auto_comments,
            user_comments=said.user_comments if said is not None else (),
            context=message.context,
        )
    return catalog


def as_po(catalog: Catalog) -> bytes:
    written = io.BytesIO()
    pofile.write_po(written, catalog, width=120, sort_output=True, no_location=True)
    return written.getvalue()


def write(language: str, catalog: Catalog) -> None:
    folder = _folder(language)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "django.po").write_bytes(as_po(catalog))


def is_up_to_date(language: str, sources: Catalog) -> bool:
    """Whether the catalogue is what the sources and the translations make."""
    path = _folder(language) / "django.po"
    return path.exists() and path.read_bytes() == as_po(merged(language, sources))


def translated_languages() -> list[str]:
    return [code for code, _ in settings.LANGUAGES if code != settings.LANGUAGE_CODE]


def missing(catalog: Catalog) -> list[str]:
    """The sentences that have no translation, or lack one of the language's forms."""
    return [str(message.id) for message in catalog if message.id and not is_said(message, catalog.num_plurals)]


def is_for_annotators(path: str) -> bool:
    """Whether annotators read what the file says; its path is given from the folder of the project."""
    name = path.removeprefix("templates/")
    if name != path and "/" not in name:
        return name not in MANAGERS_PARTS
    return any(fnmatch(name, room) for room in ANNOTATORS_ROOMS)


def is_said(message: Message, n_forms: int) -> bool:
    if not message.pluralizable:
        return bool(message.string)
    forms = message.string or ()
    return len(forms) == n_forms and all(forms)


def _new_catalog(language: str | None = None) -> Catalog:
    """An empty catalogue, with none of the headings that name people and times."""
    return Catalog(
        locale=language,
        project="Concord",
        version="1",
        header_comment="# The sentences of Concord's interface.",
        last_translator="Concord",
        language_team="Concord",
        msgid_bugs_address="-",
        creation_date=EPOCH,
        revision_date=EPOCH,
        fuzzy=False,
    )


def templates() -> list[Path]:
    return sorted((settings.BASE_DIR / "templates").rglob("*.html"))


def code() -> list[Path]:
    base: Path = settings.BASE_DIR
    return [path for app in APPS for path in sorted((base / app).rglob("*.py")) if "migrations" not in path.parts]


def _annotators_files() -> Iterator[Path]:
    for path in (*templates(), *code()):
        if is_for_annotators(path.relative_to(settings.BASE_DIR).as_posix()):
            yield path


def _folder(language: str) -> Path:
    return Path(settings.LOCALE_PATHS[0]) / language / "LC_MESSAGES"
