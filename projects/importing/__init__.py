"""Reading and checking import files without a database; the checked rows wait in a spool.

What pages, commands and `annotate.imports` use. Each call of `isolated` reads the file in a process with limits of
memory and time, because a small file may need gigabytes::

    found = isolated.preview(path=path, name="answers.csv")    # format, columns, guessed mapping, five rows, warnings
    checked = isolated.check(path=path, name="answers.csv", folder=spool_folder, options=Options(mapping={...}))
    checked.report.as_dict()                                   # counts, removed by each filter, warnings
    checked = load(spool_folder)                               # in a later process
    checked.spool.discard()                                    # when it was written or cancelled

Both raise `FileRefused` (a `Refused`) and nothing else about the file: `.problems` (at most 100, each
with `.line`, `.column`, `.reason`), `.total`, `.offers` (options that may help, such as `encoding`), `.as_dict()`.
For a judgments file pass `kind=Kind.JUDGMENTS`; its columns of judgments are `Options.criteria`
(`CriterionColumn.parse("correctness_1to5=correctness:1-5")`).

In JSON, keys under `metadata` are columns named `metadata.<key>`; those under `metadata.concord` are read as the fields
of `FIELDS` by exact name (`passage_id`, `question_id`, `references` as texts or `{text, opinion}`, `documents`, …), and
those under `metadata.concord.metadata` become the candidate's metadata again. So exports can be imported without loss.
"""

from projects.importing.check_report import CheckReport, FileRefused, Problem, Warned
from projects.importing.checking import SKIPPED_NAME, Checked, load, save
from projects.importing.fields import FIELDS, JUDGMENT_FIELDS
from projects.importing.import_options import FORMATS, CriterionColumn, Options, fingerprint
from projects.importing.limits import DEFAULT_LIMITS, Limits
from projects.importing.opening import Kind
from projects.importing.previewing import Preview
from projects.importing.spool import TABLES, Spool
from projects.importing.text import ENCODINGS

__all__ = [
    "DEFAULT_LIMITS",
    "ENCODINGS",
    "FIELDS",
    "FORMATS",
    "JUDGMENT_FIELDS",
    "SKIPPED_NAME",
    "TABLES",
    "CheckReport",
    "Checked",
    "CriterionColumn",
    "FileRefused",
    "Kind",
    "Limits",
    "Options",
    "Preview",
    "Problem",
    "Spool",
    "Warned",
    "fingerprint",
    "load",
    "save",
]
