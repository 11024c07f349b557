"""Writing catalogues: every sentence that annotators read, in templates and code, with its translations.

Babel extracts and merges, so gettext's programs are not needed. `config.catalogues` compiles the result.
"""

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path

from babel.messages import Catalog, Message, pofile
from babel.messages.extract import extract
from django.conf import settings
from django.utils.translation import to_locale
from django.utils.translation.template import templatize

KEYWORDS = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop"), None),
    **dict.fromkeys(("ngettext", "ngettext_lazy", "plural_forms"), (1, 2)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), ((1, "c"), 2)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), ((1, "c"), 2, 3)),
}
APPS = ("annotate", "config", "demo", "measures", "projects", "results")
READ_BY_ANNOTATORS = (
    "annotate/attempts/*",
    "annotate/desk/*",
    "annotate/mailing/*",
    "annotate/models/*",
    "annotate/onboarding/*",
    "annotate/rating/*",
    "annotate/work/*",
    "config/navigation/*.py",
    "measures/rubric.py",
    "projects/access.py",
    "projects/accounts/*",
    "projects/guides/*",
    "projects/language/*",
    "projects/models/*",
    "projects/people/join*",
    "projects/web/*",
)
"""Code, and templates below templates/, with text that annotators read.

Templates directly in templates/ are among them. All other text is for managers and researchers: it is in English, and
none of it goes through gettext.
"""
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""A fixed date, so that the same sentences give the same bytes."""


def read_sources() -> Catalog:
    """Return every sentence for annotators in templates and code, without translations.

    Raises ValueError if one sentence has two plural forms, because a catalogue has only one; or if it has one in one
    place and none in another, because gettext doesn't find it there.
    """
    catalog = _new_catalog()
    for path in _annotators_files():
        where = path.relative_to(settings.BASE_DIR).as_posix()
        source = path.read_text(encoding="utf-8")
        if path.suffix == ".html":
            source = "\n".join(line.strip() for line in templatize(source, origin=str(path)).splitlines())
        for _, message, comments, context in extract("python", io.BytesIO(source.encode()), KEYWORDS, ["Translators:"]):
            known = catalog.get(message if isinstance(message, str) else message[0], context)
            if known is not None and isinstance(known.id, tuple) and isinstance(message, tuple) and known.id != message:
                raise ValueError(
                    f"{where}: “{message[0]}” has a different plural elsewhere. Use the same plural in both places."
                )
            if known is not None and known.pluralizable is isinstance(message, str):
                raise ValueError(
                    f"{where}: “{known.id[0] if known.pluralizable else known.id}” is counted in one place and not in "
                    "another. Give it a context in one of them."
                )
            catalog.add(message, auto_comments=comments, context=context)
    return catalog


def read_catalogue(language: str) -> Catalog:
    """Return the catalogue of a language, empty if there is no file yet."""
    path = _folder(language) / "django.po"
    if not path.exists():
        return _new_catalog(language)
    with path.open("rb") as file:
        return pofile.read_po(file, locale=to_locale(language), abort_invalid=True)


def merge(language: str, sources: Catalog) -> Catalog:
    """Return the sentences of the sources with their translations; new ones stay empty, without fuzzy matching."""
    known, catalog = read_catalogue(language), _new_catalog(language)
    for message in sources:
        if not message.id:
            continue
        before = known.get(message.id, message.context)
        forms = before.string if before is not None and is_translated(before, catalog.num_plurals) else None
        catalog.add(
            message.id,
            forms or (("",) * catalog.num_plurals if message.pluralizable else ""),
            flags=message.flags,
            auto_comments=message.auto_comments,
            user_comments=before.user_comments if before is not None else (),
            context=message.context,
        )
    return catalog


def to_po(catalog: Catalog) -> bytes:
    """Return the content of a django.po, sorted and without file references, so that changes are easy to review."""
    written = io.BytesIO()
    pofile.write_po(written, catalog, width=120, sort_output=True, no_location=True)
    return written.getvalue()


def write(language: str, catalog: Catalog) -> None:
    folder = _folder(language)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "django.po").write_bytes(to_po(catalog))


def is_up_to_date(language: str, sources: Catalog) -> bool:
    """Return whether the catalogue file has exactly the sentences of the sources."""
    path = _folder(language) / "django.po"
    return path.exists() and path.read_bytes() == to_po(merge(language, sources))


def list_languages() -> list[str]:
    return [code for code, _ in settings.LANGUAGES if code != settings.LANGUAGE_CODE]


def list_untranslated(catalog: Catalog) -> list[str]:
    """Return the sentences that have no translation, or lack one of the language's plural forms."""
    return [str(message.id) for message in catalog if message.id and not is_translated(message, catalog.num_plurals)]


def is_for_annotators(path: str) -> bool:
    """Return whether annotators read the text of a file, given its path from the root of the repository."""
    name = path.removeprefix("templates/")
    is_top_template = name != path and "/" not in name
    return is_top_template or any(fnmatch(name, pattern) for pattern in READ_BY_ANNOTATORS)


def is_translated(message: Message, n_forms: int) -> bool:
    if not message.pluralizable:
        return bool(message.string)
    forms = message.string or ()
    return len(forms) == n_forms and all(forms)


def _new_catalog(language: str | None = None) -> Catalog:
    """Return an empty catalogue, with neutral values in the headers for people and times."""
    return Catalog(
        locale=to_locale(language) if language else None,
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


def list_templates() -> list[Path]:
    return sorted((settings.BASE_DIR / "templates").rglob("*.html"))


def list_code() -> list[Path]:
    base: Path = settings.BASE_DIR
    return [path for app in APPS for path in sorted((base / app).rglob("*.py")) if "migrations" not in path.parts]


def _annotators_files() -> Iterator[Path]:
    for path in (*list_templates(), *list_code()):
        if is_for_annotators(path.relative_to(settings.BASE_DIR).as_posix()):
            yield path


def _folder(language: str) -> Path:
    return Path(settings.LOCALE_PATHS[0]) / to_locale(language) / "LC_MESSAGES"
