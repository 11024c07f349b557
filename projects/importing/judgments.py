"""Checking the records of a judgments file, long or wide, and writing them to the spool."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from measures.rubric import check_value
from projects.importing.check_report import Broken, CheckReport, Notes
from projects.importing.fields import ColumnPlan, normal_name
from projects.importing.import_options import CriterionColumn, Options
from projects.importing.limits import Limits
from projects.importing.spool import Spool
from projects.importing.values import ID_LENGTH, Values
from projects.language.names import shorten_name

BETWEEN = "\x1f"
"""Between a candidate's ID or text, its question and its source; no text may contain it."""
NO_ANNOTATOR = "The file has no annotator column; statistics per annotator will be undefined."


class JudgmentRows:
    """Checks records one by one and writes the spool.

    In a wide file each criterion has a column: those of `Options.criteria` or, without any, the columns named like a
    known criterion. In a long file one column has the criterion and another the value. If each annotator has a column,
    or for a list of `scores` as in MOCHA's format, the ratings are on the criterion that the rows or the options name.
    An empty rating is a missing one.
    """

    def __init__(
        self,
        plan: ColumnPlan,
        options: Options,
        limits: Limits,
        notes: Notes,
        spool: Spool,
        report: CheckReport,
        known: Mapping[str, CriterionColumn],
    ) -> None:
        self.plan = plan
        self.columns = plan.by_field
        self.options = options
        self.notes = notes
        self.spool = spool
        self.report = report
        self.is_ragged = False
        self.values = Values(limits, notes)
        self.used: dict[str, CriterionColumn] = {}
        self._annotators: set[str] = set()
        self._n_slots = 0
        self._slots: dict[tuple[str, str, str], int] = {}
        self._wrong: dict[tuple[str, float], str | None] = {}
        self._scales = dict(known) | {each.key: each for each in options.criteria}
        # Rows may write “Answer quality” for the key answer-quality.
        self._by_name = {normal_name(key): each for key, each in self._scales.items()}
        self._raters = [] if "value" in self.columns else plan.raters
        self._wide = [] if self._raters else self._wide_columns(known)
        self._has_scores = "scores" in self.columns and not self._wide and "criterion" not in self.columns
        self._check_columns()
        self._scores_on = self._find_scored(known)

    def add(self, line: int, record: dict[str, Any]) -> None:
        columns, get, before = self.columns, record.get, self.notes.total
        candidate = self._identify(record, line)
        annotator = self._annotator(record, line)
        dataset = self.options.dataset
        if "dataset" in columns:
            dataset = self.values.text(get(columns["dataset"]), columns["dataset"], line, 120) or dataset
        time = self.values.time(get(columns["time"]), columns["time"], line) if "time" in columns else ""
        if self.notes.total != before:
            return
        if self._has_scores:
            for position, entry, name in self.values.scores(record, columns["scores"], columns.get("raters", ""), line):
                whose = (dataset, candidate, name)
                self._add_value(line, columns["scores"], entry, self._scores_on, *whose, time, slot=position)
        elif self._raters:
            criterion_rated = self._named(record, line) if "criterion" in columns else self._scores_on
            if criterion_rated is None:
                return
            for column in self._raters:
                self._add_value(line, column, get(column), criterion_rated, dataset, candidate, column, time)
        elif self._wide:
            for criterion in self._wide:
                self._add_value(
                    line, criterion.column, get(criterion.column), criterion, dataset, candidate, annotator, time
                )
        else:
            criterion_named = self._named(record, line)
            if criterion_named is not None:
                value = get(columns["value"])
                self._add_value(line, columns["value"], value, criterion_named, dataset, candidate, annotator, time)

    def _identify(self, record: dict[str, Any], line: int) -> str:
        """Return the candidate of a row: its ID or, where the file has questions, its ID or text with its question."""
        columns, get, before = self.columns, record.get, self.notes.total
        column = columns["candidate_id"]
        if "question" not in columns or type(get(column)) is int:
            candidate = self.values.identity(get(column), column, line)
        else:
            candidate = self.values.text(get(column), column, line)
        if not candidate and self.notes.total == before:
            self.notes.problem(line, column, "is empty")
        if "question" not in columns:
            return candidate
        others = ((columns[name], get(columns[name])) for name in ("question", "source") if name in columns)
        return BETWEEN.join([candidate, *(self.values.text(value, name, line) for name, value in others)])

    def finish(self) -> None:
        report = self.report
        report.annotators, report.most_unnamed = len(self._annotators), self._n_slots
        if self._n_slots:
            self.notes.warn(NO_ANNOTATOR)
        if not report.judgments and not self.notes.total:
            what = "no judgments in its rows" if report.rows else "no rows"
            self.notes.problem(None, "", f"the file has a header but {what}")

    def _wide_columns(self, known: Mapping[str, CriterionColumn]) -> list[CriterionColumn]:
        named = [each for each in self.options.criteria if each.column]
        present = list(self.plan.meanings)
        for each in named:
            if each.column not in present:
                raise Broken(
                    f"column “{shorten_name(each.column)}” for the criterion {each.key} not found", column=each.column
                )
        if named:
            keys = [each.key for each in named]
            if len(set(keys)) != len(keys):
                raise Broken("two columns are given for the same criterion")
            return named
        if "criterion" in self.columns:
            return []
        # Beside a list of scores, as in MOCHA's format, “score” is their mean and nobody's rating.
        column = self.columns.get("value", "")
        is_mean = "scores" in self.columns
        matching = [
            CriterionColumn(key=each.key, low=each.low, high=each.high, kind=each.kind, column=each.key)
            for each in known.values()
            if each.key in present and not (is_mean and each.key == column)
        ]
        if not matching and column and not is_mean and len(self.options.criteria) == 1:
            one = self.options.criteria[0]
            return [replace(one, column=column)]
        return matching

    def _find_scored(self, known: Mapping[str, CriterionColumn]) -> CriterionColumn:
        if not self._raters or self.options.rater_criterion or "criterion" in self.columns:
            return self.options.find_scored(known)
        # One criterion needs no choice. Of several, none is the obvious one.
        keys = [each.key for each in self.options.criteria if not each.column] or list(known)
        if len(keys) != 1:
            raise Broken("choose the criterion of the ratings", column=self._raters[0])
        return self._scales[keys[0]]

    def _check_columns(self) -> None:
        if "candidate_id" not in self.columns:
            raise Broken("no candidate ID column found; choose the column", column="candidate_id")
        if self._raters and "annotator" in self.columns:
            raise Broken(
                "ratings are mapped by annotator, so no other column can name the annotator; ignore it",
                column=self.columns["annotator"],
            )
        if self._wide or self._has_scores or self._raters:
            return
        missing = [name for name in ("criterion", "value") if name not in self.columns]
        if missing:
            reason = (
                f"no column for “{missing[0]}” and no criterion columns given; give judgment columns as "
                "column=key:low-high, or map a column for each annotator"
            )
            raise Broken(reason, column=missing[0])

    def _annotator(self, record: dict[str, Any], line: int) -> str:
        column = self.columns.get("annotator", "")
        if not column:
            return ""
        before = self.notes.total
        name = self.values.identity(record.get(column), column, line)
        if not name and self.notes.total == before:
            self.notes.problem(line, column, "is empty; fill in every annotator or remove the column")
        return name

    def _named(self, record: dict[str, Any], line: int) -> CriterionColumn | None:
        column = self.columns["criterion"]
        before = self.notes.total
        key = self.values.text(record.get(column), column, line, ID_LENGTH)
        criterion = self._scales.get(key) or self._by_name.get(normal_name(key))
        if criterion is None and self.notes.total == before:
            name = shorten_name(key, 40)
            reason = f"unknown criterion “{name}”; give its scale as {normal_name(name) or 'key'}:low-high"
            self.notes.problem(line, column, reason)
        return criterion

    def _add_value(
        self,
        line: int,
        column: str,
        value: Any,
        criterion: CriterionColumn,
        dataset: str,
        candidate: str,
        annotator: str,
        time: str,
        slot: int = 0,
    ) -> None:
        if value is None or value == "":
            self.report.count_skipped("empty_ratings")
            return
        number = self.values.rating(value, column, line)
        if number is None:
            return
        key = criterion.key
        # A million judgments have few different values, so each value is checked once for each criterion.
        if (key, number) not in self._wrong:
            self._wrong[key, number] = check_value(criterion.scale, number)
        if wrong := self._wrong[key, number]:
            self.notes.problem(line, column, wrong)
            return
        slot = 0 if annotator else slot or self._next_slot(dataset, candidate, key)
        self._n_slots = max(self._n_slots, slot)
        if annotator:
            self._annotators.add(annotator)
        self.used[key] = criterion
        self.report.judgments += 1
        self.spool.add(
            "judgments", f"{line}\t{number!r}\t{slot}\t{time or _NULL}", (dataset, candidate, annotator, key)
        )

    def _next_slot(self, dataset: str, candidate: str, key: str) -> int:
        """Return the position of a judgment without an annotator among those of its candidate.

        It keeps the judgments apart, and does not identify a person.
        """
        judged = (dataset, candidate, key)
        self._slots[judged] = self._slots.get(judged, 0) + 1
        return self._slots[judged]


_NULL = "\\N"
