"""Checking the records of a candidates file and writing them to the spool."""

from typing import Any

import orjson

from measures.rubric import check_value
from projects.importing import filters
from projects.importing.check_report import Broken, CheckReport, Notes
from projects.importing.fields import ColumnPlan
from projects.importing.import_options import EVERY_DATASET, Options
from projects.importing.limits import Limits
from projects.importing.questions import QuestionRows, References
from projects.importing.row_identity import SeenDataset, SeenIds, SeenQuestion, make_text_id
from projects.importing.spool import Spool
from projects.importing.values import ID_LENGTH
from projects.language.characters import find_forbidden_within
from projects.language.names import shorten_name

PAIR_NOT_HIGHER = (
    "In a minimal pair the first candidate does not have the higher score; the pair is imported but "
    "excluded from metric accuracy."
)
PAIR_OF_ONE_TEXT = "Both candidates of a minimal pair have the same text."
NO_ANSWER = (
    "is empty; remove the row, or write a text such as “(no answer)”, or “(no question)” where systems write questions"
)
NO_SCORES = (
    "The file has no scores to import as judgments: no list of scores, as under metadata.scores in MOCHA's format, "
    "and no column with one annotator's scores. A mean score alone is kept as metadata."
)
SCORES_LEFT = (
    "The file contains scores that are not imported. To include them, choose “Also import scores as judgments” "
    "(on the command line, --with-scores)."
)
SHORT_TEXT = 20


class CandidateRows(QuestionRows):
    """Checks records one by one and writes the spool; the counts are in `report`."""

    def __init__(
        self, plan: ColumnPlan, options: Options, limits: Limits, notes: Notes, spool: Spool, report: CheckReport
    ) -> None:
        super().__init__(plan, options, limits, notes, spool, report)
        self.annotators: set[str] = set()
        self.n_slots = 0
        self._ids = SeenIds()
        self._criterion = options.find_scored({})
        self._on_scale: dict[float, str | None] = {}
        self._drops_numbers = frozenset(options.drop_numbers)
        self._check_columns()
        if plan.raters and not options.with_scores:
            notes.warn(SCORES_LEFT)
            for column in plan.raters:
                plan.keep(column)

    def add(self, line: int, record: dict[str, Any]) -> None:
        """Check one record and write it; a record with problems adds no candidate."""
        if self.is_ragged:
            self.add_new_columns(record, line)
        before = self.notes.total
        columns = self.columns
        dataset = self.find_or_add_dataset(record, line)
        # Before the filters, which compare the candidate with them; the question is written only if a candidate stays.
        references = self.read_references(record, line)
        first = record.get(columns["candidate_1"]) if "candidate_1" in columns else None
        if first is not None and first != "":
            self._add_pair(line, record, dataset, references, before)
            return
        text = self.read_candidate_text(record, line)
        # A filtered candidate is not an error, so the rest of its row is not checked.
        if text and self._is_filtered(text, references, dataset):
            return
        question = self.find_or_add_question(record, line, dataset, references)
        if text is None or question is None or self.notes.total != before:
            return
        key = self._add_candidate(line, record, dataset, question, text)
        if key is not None and ("scores" in columns or "score" in columns):
            self._add_scores(line, record, dataset, key)
        if key is not None and self.options.with_scores:
            for column in self.plan.raters:
                self._add_rating(line, column, dataset, key, record.get(column))

    def finish(self) -> None:
        report = self.report
        self._refuse_repeated()
        for dataset in self.datasets.values():
            counts = dataset.counts()
            report.by_dataset[dataset.name] = counts
            for name, n in counts.items():
                setattr(report, name, getattr(report, name) + n)
        report.annotators, report.most_unnamed = len(self.annotators), self.n_slots
        if not report.candidates and not self.notes.total:
            reason = "the file has a header but no rows" if not report.rows else "no candidates match the filters"
            self.notes.problem(None, "", reason)
        elif self.options.with_scores and not report.judgments and not self.notes.total:
            self.notes.warn(NO_SCORES)

    def _check_columns(self) -> None:
        columns = self.columns
        is_pairs = "candidate_1" in columns and "candidate_2" in columns
        needed = ["question"]
        if not is_pairs and self.options.second_reference_below is None:
            needed.append("candidate")
        missing = [name for name in needed if name not in columns]
        if missing:
            found = ", ".join(shorten_name(name, 30) for name in list(self.plan.meanings)[:12])
            names = " and ".join(f"“{name}”" for name in missing)
            reason = f"no column for {names} (found: {found}); choose the column"
            raise Broken(reason, column=missing[0])
        if not self.plan.references and "references" not in columns and not self.options.multiple_choice:
            self.notes.warn("The file has no reference column.")

    def read_candidate_text(self, record: dict[str, Any], line: int) -> str | None:
        column = self.columns.get("candidate", "")
        if not column:
            return None
        value = record.get(column)
        if value is None or value == "":
            if self.options.second_reference_below is None:
                self.notes.problem(line, column, NO_ANSWER)
            return None
        return self.values.text(value, column, line)

    def _is_filtered(self, text: str, references: References, dataset: SeenDataset) -> bool:
        options = self.options
        if not options.drop_equal and not self._drops_numbers:
            return False
        texts = [reference for reference, _ in references]
        removed = self.report.removed
        if options.drop_equal and filters.is_equal(text, texts, options.drop_equal):
            removed["equal_to_reference"] += 1
            return True
        if (
            self._drops_numbers
            and (dataset.name in self._drops_numbers or EVERY_DATASET in self._drops_numbers)
            and filters.is_number(text)
            and any(map(filters.is_number, texts))
        ):
            removed["both_numbers"] += 1
            return True
        return False

    def _add_candidate(
        self,
        line: int,
        record: dict[str, Any],
        dataset: SeenDataset,
        question: SeenQuestion,
        text: str,
        suffix: str = "",
    ) -> int | None:
        columns, values, get = self.columns, self.values, record.get
        before = self.notes.total
        source = opinion = rank = confidence = ""
        if "source" in columns:
            source = values.text(get(columns["source"]), columns["source"], line, ID_LENGTH)
        if "opinion" in columns:
            opinion = values.text(get(columns["opinion"]), columns["opinion"], line, SHORT_TEXT)
        if "rank" in columns and get(columns["rank"]) not in (None, ""):
            rank = str(values.whole(get(columns["rank"]), columns["rank"], line))
        if "confidence" in columns and get(columns["confidence"]) not in (None, ""):
            confidence = repr(values.number(get(columns["confidence"]), columns["confidence"], line))
        external_id = ""
        if "candidate_id" in columns:
            external_id = values.identity(get(columns["candidate_id"]), columns["candidate_id"], line)
            if not external_id and self.notes.total == before:
                self.notes.problem(line, columns["candidate_id"], "is empty; give an ID to every candidate or to none")
            external_id = external_id and external_id + suffix
        metadata = self._metadata(line, record)
        if self.notes.total != before:
            return None
        has_id = bool(external_id)
        # Without an id, the same text from another system or with another rank is another candidate.
        external_id = external_id or make_text_id(question.external_id, text, source, rank, suffix)
        if not self._keep_id(line, dataset, external_id):
            return None
        return self._write_candidate(
            line, dataset, question, f"{'t' if has_id else 'f'}\t{rank or _NULL}\t{confidence or _NULL}",
            (external_id, text, source, opinion, metadata),
        )  # fmt: skip

    def _write_candidate(
        self, line: int, dataset: SeenDataset, question: SeenQuestion, numbers: str, texts: tuple[str, ...]
    ) -> int:
        key = self.n_candidates
        self.n_candidates += 1
        dataset.candidates += 1
        self.spool.add("candidates", f"{key}\t{question.key}\t{line}\t{numbers}", texts)
        return key

    def _keep_id(self, line: int, dataset: SeenDataset, external_id: str) -> bool:
        """Note an id by its hash; `_refuse_repeated` finds duplicates at the end, for all rows at once."""
        if len(external_id) > ID_LENGTH:
            self.notes.problem(line, self.columns["candidate_id"], f"is longer than {ID_LENGTH} characters")
            return False
        self._ids.add(dataset.number, external_id, line)
        return True

    def _refuse_repeated(self) -> None:
        """Report ids that occur twice. Different ids may have equal hashes, so the ids are compared in the spool."""
        suspects = self._ids.suspects()
        if not suspects:
            return
        self.spool.flush()
        firsts: dict[tuple[str, int], int] = {}
        for row in self.spool.rows("candidates"):
            key = int(row["key"])
            if key not in suspects:
                continue
            first = firsts.setdefault((row["external_id"], self._ids.hash(key)), key)
            if first == key:
                continue
            line, first_line = self._ids.line(key), self._ids.line(first)
            there = f"also occurs {self.notes.name_place(first_line)}"
            if row["has_id"] == "t":
                name = shorten_name(row["external_id"], 60)
                column, reason = self.columns.get("candidate_id", ""), f"the ID “{name}” {there}"
            else:
                column, reason = "", f"the same candidate from the same source {there}; add IDs"
            self.notes.problem(line, column, reason, contradicts=first_line)

    def _metadata(self, line: int, record: dict[str, Any]) -> str:
        kept = self.plan.kept
        if not kept and "score" not in self.columns:
            return "{}"
        found = {name: record[column] for column, name in kept if record.get(column) not in (None, "")}
        if "score" in self.columns and not record.get(self.columns.get("scores", "")):
            score = record.get(self.columns["score"])
            if score is not None and score != "":
                found["score"] = score
        if not found:
            return "{}"
        try:
            text = orjson.dumps(found).decode()
        except (TypeError, ValueError, RecursionError):
            if not self._refuse_forbidden(line, found):
                self.notes.problem(line, "", "an additional column contains a value that cannot be stored")
            return "{}"
        # JSON escapes control characters, but also quotes, so the values are searched themselves.
        if "\\" in text or not text.isprintable():
            self._refuse_forbidden(line, found)
        if len(text) > self.limits.cell_bytes:
            self.notes.problem(
                line, "", f"the additional columns are larger than {self.limits.cell_bytes // 1024:,} kB"
            )
        return text

    def _refuse_forbidden(self, line: int, record: dict[str, Any]) -> bool:
        """Refuse the first column with a forbidden character and return true, or return false if there is none."""
        for name, value in record.items():
            if found := find_forbidden_within([name, value]):
                self.notes.problem(line, shorten_name(name), found.problem)
                return True
        return False

    def _add_pair(
        self, line: int, record: dict[str, Any], dataset: SeenDataset, references: References, before: int
    ) -> None:
        """Write the two candidates of a minimal pair, with their scores if the file has any."""
        columns, values, notes = self.columns, self.values, self.notes
        texts = []
        for number in ("1", "2"):
            column = columns.get(f"candidate_{number}", "")
            text = values.text(record.get(column), column, line)
            if not text and notes.total == before:
                notes.problem(line, column or f"candidate_{number}", "is empty")
            texts.append(text)
        if texts[0] and texts[0] == texts[1]:
            notes.warn(PAIR_OF_ONE_TEXT, line)
        scores = self._pair_scores(line, record)
        question = self.find_or_add_question(record, line, dataset, references)
        phenomenon = values.text(record.get(columns.get("phenomenon", "")), columns.get("phenomenon", ""), line, 40)
        if question is None or notes.total != before:
            return
        if scores and scores[0] <= scores[1]:
            notes.warn(PAIR_NOT_HIGHER, line)
        keys = [
            self._add_candidate(line, record, dataset, question, text, suffix)
            for text, suffix in zip(texts, ("-1", "-2"), strict=True)
        ]
        if None not in keys:
            dataset.minimal_pairs += 1
            for key, number in zip(keys, ("_1", "_2"), strict=True):
                self._add_scores(line, record, dataset, key or 0, number)
            written = "\t".join(map(repr, scores)) if scores else f"{_NULL}\t{_NULL}"
            self.spool.add("pairs", f"{question.key}\t{keys[0]}\t{keys[1]}\t{written}", (phenomenon,))

    def _pair_scores(self, line: int, record: dict[str, Any]) -> list[float]:
        """Return both scores of a pair, or an empty list; one score without the other is a problem."""
        found: list[float | None] = []
        names = [self.columns.get(name, "") for name in ("score_1", "score_2")]
        given = [name for name in names if record.get(name) not in (None, "")]
        if not given:
            return []
        for name, meaning in zip(names, ("score_1", "score_2"), strict=True):
            if name in given:
                found.append(self.values.number(record[name], name, line))
            else:
                self.notes.problem(line, name or meaning, "is missing; a minimal pair needs both scores or none")
        return [score for score in found if score is not None]

    def add_reference_candidate(
        self, line: int, dataset: SeenDataset, question: SeenQuestion, text: str, number: int
    ) -> None:
        # Cut, so that the id fits its column even if the question's id has the full length.
        external_id = f"{question.external_id[: ID_LENGTH - 20]}-reference-{number}"
        if self._keep_id(line, dataset, external_id):
            texts = (external_id, text, "second reference", "", "{}")
            self._write_candidate(line, dataset, question, f"t\t{_NULL}\t{_NULL}", texts)
            self.report.made["second_reference"] = self.report.made.get("second_reference", 0) + 1

    def _add_scores(
        self, line: int, record: dict[str, Any], dataset: SeenDataset, candidate: int, number: str = ""
    ) -> None:
        column = self.columns.get(f"scores{number}", "")
        if record.get(column) in (None, "", []):
            return
        if not self.options.with_scores:
            self.notes.warn(SCORES_LEFT, line)
            return
        for scored in self.values.scores(record, column, self.columns.get(f"raters{number}", ""), line):
            self._add_score(line, column, dataset, candidate, *scored)

    def _add_rating(self, line: int, column: str, dataset: SeenDataset, candidate: int, entry: Any) -> None:
        """Add the rating of an annotator who has a column; its name is theirs."""
        if entry is None or entry == "":
            self.report.count_skipped("empty_ratings")
        else:
            self._add_score(line, column, dataset, candidate, 0, entry, column)

    def _add_score(
        self, line: int, column: str, dataset: SeenDataset, candidate: int, position: int, entry: Any, name: str
    ) -> None:
        value = self.values.rating(entry, column, line)
        if value is None:
            return
        # A million scores have few different values, so each value is checked once.
        if value not in self._on_scale:
            self._on_scale[value] = check_value(self._criterion.scale, value)
        if wrong := self._on_scale[value]:
            self.notes.problem(line, column, wrong)
            return
        slot = 0 if name else position
        if name:
            self.annotators.add(name)
        elif position > self.n_slots:
            self.n_slots = position
        dataset.judgments += 1
        self.spool.add("scores", f"{candidate}\t{line}\t{value!r}\t{slot}", (name, self._criterion.key))


_NULL = "\\N"
