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
NOT_FOR_ANNOTATORS = (
    "annotate/reviews/adjudication.py",
    "annotate/moderation/members.py",
    "annotate/data/withdrawing.py",
    "annotate/batches/creating.py",
    "annotate/checking/*",
    "annotate/batches/selection.py",
    "annotate/controls/*",
    "annotate/moderation/forms.py",
    "annotate/batches/forms.py",
    "annotate/controls/forms.py",
    "annotate/imports/forms.py",
    "annotate/data/forms.py",
    "annotate/payments/forms.py",
    "annotate/planning/forms.py",
    "annotate/qualification/forms.py",
    "annotate/quality/forms.py",
    "annotate/frames/rating_patterns.py",
    "annotate/importing/*",
    "annotate/models/batch.py",
    "annotate/models/imports.py",
    "annotate/models/quality.py",
    "annotate/batches/judgments_wanted.py",
    "annotate/data/pairs.py",
    "annotate/payments/ledger.py",
    "annotate/payments/paying.py",
    "annotate/planning/*",
    "annotate/batches/progress.py",
    "annotate/qualification/items_from_candidates.py",
    "annotate/qualification/design.py",
    "annotate/qualification/items_from_file.py",
    "annotate/qualification/admission.py",
    "annotate/qualification/items.py",
    "annotate/qualification/item_statistics.py",
    "annotate/reviews/spot_checks.py",
    "annotate/batches/lifecycle.py",
    "annotate/data/table.py",
    "annotate/batches/terms.py",
    "annotate/batches/trials.py",
    "annotate/imports/uploading.py",
    "annotate/reviews/adjudication_views.py",
    "annotate/moderation/assignment_page.py",
    "annotate/batches/views.py",
    "annotate/quality/charts.py",
    "annotate/controls/views.py",
    "annotate/data/views.py",
    "annotate/quality/figure_names.py",
    "annotate/quality/figures_shown.py",
    "annotate/quality/finding_views.py",
    "annotate/views/import*",
    "annotate/data/pair_views.py",
    "annotate/planning/views.py",
    "annotate/qualification/design_views.py",
    "annotate/qualification/item_views.py",
    "annotate/quality/views.py",
    "annotate/reviews/remark_views.py",
    "annotate/reviews/views.py",
    "annotate/moderation/work_views.py",
    "annotate/data/withdrawal_views.py",
    "demo/*",
    "projects/api/*",
    "projects/texts/examples.py",
    "projects/people/forms.py",
    "projects/settings/forms.py",
    "projects/accounts/users.py",
    "projects/rubric/*",
    "projects/web/forms.py",
    "projects/texts/forms.py",
    "projects/api/token_views.py",
    "projects/settings/lifecycle.py",
    "projects/importing/*",
    "projects/jobs/queue.py",
    "projects/log/messages.py",
    "projects/models/corpus.py",
    "projects/models/rubric.py",
    "projects/language/names.py",
    "projects/people/members.py",
    "projects/texts/versions.py",
    "projects/splitting.py",
    "projects/api/tokens.py",
    "projects/log/views.py",
    "projects/settings/views.py",
    "projects/texts/views.py",
    "projects/api/token_views.py",
    "results/*",
)
"""The code that only researchers and managers come to: its sentences are given in English, and need no translation."""
ANNOTATORS_TEMPLATES = (
    "annotate/desk/*",
    "annotate/onboarding/*",
    "annotate/payments/_*",
    "annotate/qualification/attempt_*",
    "annotate/qualification/_attempt_*",
    "annotate/rating/*",
    "annotate/work/*",
    "projects/accounts/*",
    "projects/people/join*",
)
"""The rooms whose pages annotators come to, beside the templates in no room. Any other is English, without a mark."""
MANAGERS_PARTS = ("_chart_figure.html", "_file_refusal.html", "_job.html")
"""The parts, of no one room, that only pages of researchers and managers have."""
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""A catalogue bears no time of its making: the same sentences are the same bytes."""


def read_sources() -> Catalog:
    """Every sentence that templates and code say to annotators."""
    catalog = _new_catalog()
    for path in _source_files():
        where = path.relative_to(settings.BASE_DIR).as_posix()
        if not is_for_annotators(where):
            continue
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
    """Whether the file, by its path from the project's folder, says something to annotators."""
    folder, _, name = path.partition("/")
    if folder != "templates":
        return not any(fnmatch(path, pattern) for pattern in NOT_FOR_ANNOTATORS)
    if "/" not in name:
        return name not in MANAGERS_PARTS
    return any(fnmatch(name, room) for room in ANNOTATORS_TEMPLATES)


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


def _source_files() -> Iterator[Path]:
    base: Path = settings.BASE_DIR
    yield from templates()
    for app in APPS:
        yield from sorted(path for path in (base / app).rglob("*.py") if "migrations" not in path.parts)


def _folder(language: str) -> Path:
    return Path(settings.LOCALE_PATHS[0]) / language / "LC_MESSAGES"
