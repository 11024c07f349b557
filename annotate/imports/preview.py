"""The preview of an import's file, read with the settings of its forms."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from annotate.imports import uploading
from annotate.imports.forms import (
    CandidatesForm,
    JudgmentsForm,
    ReadingForm,
    read_initial,
)
from annotate.imports.judgments import fetch_known_criteria
from annotate.imports.labels import find_scale, suggest_labels
from annotate.imports.mapping_form import CRITERION, MappingForm, is_rating
from annotate.models import Import
from projects.importing import CriterionColumn, FileRefused, Kind, Options, Preview, Problem, isolated
from projects.web import uploads


@dataclass
class FilePreview:
    """The preview of a file with its forms, or the reason why it can't be read in this way."""

    reading: ReadingForm
    rows: CandidatesForm | JudgmentsForm
    preview: Preview | None = None
    mapping: MappingForm | None = None
    refusal: FileRefused | None = None
    options: Options | None = None
    are_columns_new: bool = False

    @property
    def columns_id(self) -> str:
        """A hash of the columns, by which a form tells whether it was filled in for them."""
        return hash_columns(self.preview.columns if self.preview else ())


def hash_columns(columns: Sequence[str]) -> str:
    """Return a text that differs for other columns; a mapping is sent with that of the columns it was made for."""
    return hashlib.sha256(orjson.dumps(columns)).hexdigest()[:16]


def read_preview(job: Import, data: Any = None) -> FilePreview:
    """Read the beginning of the file with the settings of the forms or, before they are sent, with the stored ones."""
    kept = uploading.read_options(job)
    known = fetch_known_criteria(job.project)
    initial = read_initial(kept, known)
    rows_form = CandidatesForm if job.kind == Import.Kind.CANDIDATES else JudgmentsForm
    found = FilePreview(ReadingForm(data, initial=initial), rows_form(known, data, initial=initial))
    reading = {name: getattr(kept, name) for name in found.reading.fields}
    if data is not None and found.reading.is_valid():
        reading = found.reading.cleaned_data
    try:
        found.preview = fetch_preview(job, Options(**reading))
    except FileRefused as refusal:
        found.refusal = refusal
        return found
    # With other columns than the form was filled in for, its choices would fall on the wrong columns.
    found.are_columns_new = data is not None and data.get("columns") != found.columns_id
    chosen = _read_mapping(kept, found.preview, known)
    found.mapping = MappingForm(found.preview, known, chosen, None if found.are_columns_new else data)
    found.reading.show_detected(found.preview)
    if not kept.labels:
        found.rows.initial["labels"] = _suggest_labels(kept, known, found.preview, found.mapping)
    if data is not None and found.reading.is_valid() and found.rows.is_valid():
        found.options = _read_options(found)
    return found


def _read_mapping(kept: Options, guessed: Preview, known: dict[str, CriterionColumn]) -> dict[str, str]:
    """Return the stored fields of the columns that the file has; a corrected file may lack some."""
    judged = {each.column: f"{CRITERION}{each.key}" for each in kept.criteria if each.key in known}
    return {column: field for column, field in {**kept.mapping, **judged}.items() if column in guessed.columns}


def _suggest_labels(kept: Options, known: dict[str, CriterionColumn], guessed: Preview, mapping: MappingForm) -> str:
    fields = {column: field for column, field in mapping.initial_fields().items() if is_rating(field)}
    fields |= {each.column: CRITERION + each.key for each in kept.criteria if each.column}
    scales = {each.key: each for each in kept.criteria} | known
    return suggest_labels(
        guessed, {column: find_scale(kept, scales, field.removeprefix(CRITERION)) for column, field in fields.items()}
    )


def _read_options(found: FilePreview) -> Options | None:
    """Return all three forms as options, or None if the mapping has errors."""
    assert found.mapping is not None
    sent = {**found.reading.cleaned_data, **found.rows.cleaned_data}
    if found.are_columns_new:
        return Options(**sent)
    if not found.mapping.is_valid():
        return None
    criteria = (*found.mapping.criteria(), *sent.pop("criteria", ()))
    return Options(**sent, criteria=criteria, mapping=found.mapping.mapping())


def fetch_preview(job: Import, options: Options) -> Preview:
    """Return the first rows of the file. Raises FileRefused if it can't be read with these options.

    They are kept with the file, which is read again only for other options.
    """
    path = uploads.find_file(job)
    try:
        return isolated.preview(
            path=path,
            name=job.file_name,
            options=options,
            kind=Kind(job.kind),
            kept=path.with_name(f"{path.name}.preview"),
        )
    except FileNotFoundError:
        missing = Problem(None, "", "The uploaded file is gone. Upload it again.")
        raise FileRefused(job.file_name, [missing]) from None
