"""The preview of an import's file, read as its forms say."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import orjson

from annotate.imports import uploading
from annotate.imports.forms import CRITERION, CandidatesForm, JudgmentsForm, MappingForm, ReadingForm, read_initial
from annotate.imports.judgments import known_criteria
from annotate.models import Import
from projects.importing import CriterionColumn, FileRefused, Kind, Options, Preview, Problem, preview
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
        columns = self.preview.columns if self.preview else ()
        return hashlib.sha256(orjson.dumps(columns)).hexdigest()[:16]


def read_preview(job: Import, data: Any = None) -> FilePreview:
    """Read the beginning of the file as the forms say or, before they are sent, as the stored options say."""
    kept = uploading.read_options(job)
    known = known_criteria(job.project)
    initial = read_initial(kept, known)
    rows_form = CandidatesForm if job.kind == Import.Kind.CANDIDATES else JudgmentsForm
    look = FilePreview(ReadingForm(data, initial=initial), rows_form(data, initial=initial))
    reading = {name: getattr(kept, name) for name in look.reading.fields}
    if data is not None and look.reading.is_valid():
        reading = look.reading.cleaned_data
    try:
        look.preview = preview_of(job, Options(**reading))
        chosen = _chosen(job, replace(kept, **reading), look.preview, known)
    except FileRefused as refusal:
        look.refusal = refusal
        return look
    look.are_columns_new = data is not None and data.get("columns") != look.columns_id
    look.mapping = MappingForm(look.preview, known, chosen, None if look.are_columns_new else data)
    if data is not None and look.reading.is_valid() and look.rows.is_valid():
        look.options = _options(look)
    return look


def _chosen(job: Import, kept: Options, guessed: Preview, known: dict[str, CriterionColumn]) -> dict[str, str]:
    """Return the mapping of columns where it differs from the automatic one."""
    judged = {each.column: f"{CRITERION}{each.key}" for each in kept.criteria if each.key in known}
    mapping = {column: meaning for column, meaning in kept.mapping.items() if column in guessed.columns}
    if not mapping:
        return judged
    return {**preview_of(job, replace(kept, mapping=mapping, criteria=())).mapping, **judged}


def _options(look: FilePreview) -> Options | None:
    """Return all three forms as options, or None if the mapping has errors."""
    assert look.mapping is not None
    sent = {**look.reading.cleaned_data, **look.rows.cleaned_data}
    if look.are_columns_new:
        return Options(**sent)
    if not look.mapping.is_valid():
        return None
    criteria = (*look.mapping.criteria(), *sent.pop("criteria", ()))
    return Options(**sent, criteria=criteria, mapping=look.mapping.mapping())


def preview_of(job: Import, options: Options) -> Preview:
    try:
        return preview(path=uploads.find_file(job), name=job.file_name, options=options, kind=Kind(job.kind))
    except FileNotFoundError:
        gone = Problem(None, "", "The uploaded file is gone. Upload it again.")
        raise FileRefused(job.file_name, [gone]) from None
