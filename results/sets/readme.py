"""The texts of a set: README with the reference, datasheet, codebook, rubric, instructions and consent."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from measures.rubric import ScaleKind
from results.models import Study
from results.scope.excluded import REASON_NOTES
from results.sets import cards, citing, studies
from results.sets.agreement_text import write_agreement
from results.sets.archive import compute_sha256, measure_file
from results.sets.codebook import write_codebook
from results.sets.datasheet import DATASHEET, SIMULATED, describe_imported, escape_cell, join_lines, write_datasheet
from results.sets.parquet import name_tables
from results.sets.provenance import Terms
from results.sets.settings import Settings

README = "README.md"

FILES = {
    "README.md": "contents of the set, and how to cite it",
    "CITATION.cff": "how to cite it, in the Citation File Format",
    "citation.bib": "how to cite it, for BibTeX",
    "datasheet.md": "contents, annotators, collection, consent, agreement, limitations",
    "codebook.csv": "each column of each table: meaning, type, unit, values",
    "long.csv": "a row for each judgment, included or not, with the reason",
    "long.jsonl": "the rows of long.csv as JSON lines, every text exactly as stored",
    "judgments.parquet": "the rows of long.jsonl, for pandas, DuckDB and Hugging Face Datasets",
    "croissant.json": "the Parquet files and their columns in the Croissant format",
    **{
        f"{stem}.parquet": f"the rows of {stem}{ending}, with types and exact texts"
        for stem, ending in (
            *(("aggregated", ".csv"), ("annotators", ".csv"), ("metric_scores", ".csv")),
            *(("candidates", ".jsonl"), ("passages", ".jsonl")),
        )
    },
    "aggregated.csv": (
        "a row for each candidate and criterion: number of judgments, mean, median, SD, mean z score, gold score, "
        "each score"
    ),
    "wide.csv": "a row for each candidate and criterion, a column for each judgment",
    "annotators.csv": "judgments of each annotator, with the mean and standard deviation for z scores",
    "identical_answers.csv": "candidates with the text of a judged one, whose judgments count for their source too",
    "survey_answers.csv": "answers to surveys before and after the work, of annotators who allowed their publication",
    "candidates.jsonl": "the judged candidates",
    "passages.jsonl": "the passages of these candidates",
    "figures.json": "counts, agreement and reliability of each criterion",
    "changes.json": "changes since the previous set",
    "set.json": "settings, batches, rubric, instructions and consent texts",
    "metric_scores.csv": "a row for each candidate, a column for each metric of the metric evaluations",
    "metrics.json": "settings and versions of the metrics in metric_scores.csv",
    "rubric.md": "criteria and scales",
    "instructions.md": "instructions that annotators read before they rated",
    "consent.md": "consent text that annotators agreed to",
    "manifest.json": "size and SHA-256 of each file",
    "SHA256SUMS": "SHA-256 of each file, for sha256sum --check SHA256SUMS",
}
CHANGED = {
    "added": "Rows added to the long file",
    "gone": "Rows removed",
    "changed_score": "Rows with a different score",
    "changed_entering": "Rows now included or excluded",
    "same": "Unchanged rows",
}
MOCHA = {
    "-train.json": "MOCHA format with scores, split train",
    "-dev.json": "MOCHA format with scores, split dev",
    "-test.json": "MOCHA format with scores, split test",
    "-other.json": "MOCHA format with scores, candidates of other splits or of none",
    "-test-no-scores.json": "MOCHA format without scores, split test",
    "-minimal_pairs.json": "MOCHA format, minimal pairs",
}


def cite(folder: Path, about: Terms, figures: dict[str, Any]) -> citing.Citation:
    """Return the reference to a set from its folder, with the SHA-256 of its long file."""
    sha256 = compute_sha256(folder / citing.FINGERPRINTED)
    return describe_citation(about, figures, fingerprints=[(citing.FINGERPRINTED, sha256)])


def write_cards(folder: Path, about: Terms, figures: dict[str, Any], citation: citing.Citation) -> str:
    """Write the reference to the set and croissant.json; return the header that makes the README a dataset card."""
    settings = Settings.from_dict(about["settings"])
    bibtex = citing.format_bibtex(citation)
    (folder / citing.BIBTEX).write_text(bibtex, encoding="utf-8")
    (folder / citing.CFF).write_text(citing.format_cff(citation), encoding="utf-8")
    tables = name_tables(folder, settings)
    files = [measure_file(folder / file) for _name, file, _columns in tables]
    cards.write_croissant(folder / cards.CROISSANT, citation, tables, files, bibtex=bibtex)
    n_rows = about["counts"]["n_rows"]
    tags = ["evaluation"] if figures[SIMULATED] else ["human-judgments", "evaluation"]
    return cards.write_header(citation, tables, languages=settings.languages, n_rows=n_rows, tags=tags)


def describe_citation(
    about: Terms, figures: dict[str, Any], *, fingerprints: Sequence[tuple[str, str]], doi: str = ""
) -> citing.Citation:
    """Return the reference to the set; a DOI is given after its deposit, so the files of the set have none."""
    return citing.make_citation(
        about,
        key=f"{about['project']['slug']}-set-{about['set']['number']}",
        title=format_title(about),
        sentence=_describe_judgments(about, figures),
        fingerprints=fingerprints,
        doi=doi,
    )


def _describe_judgments(about: Terms, figures: dict[str, Any]) -> str:
    is_human = not figures[SIMULATED]
    judgments = f"{about['counts']['n_included']:,} {'human ' if is_human else ''}judgments of answers to questions"
    # Nobody may take a program's judgments for a person's.
    others = "" if is_human else ", some by simulated annotators"
    # Stored as the package is named.
    version = re.sub("^concord", "Concord", about["code_version"])
    return f"{judgments}{others}, frozen on {about['snapshot_at'][:10]} with {version}."


def write_texts(
    folder: Path,
    about: Terms,
    figures: dict[str, Any],
    changes: dict[str, Any] | None,
    *,
    citation: citing.Citation,
    header: str,
) -> None:
    """Write every file of prose; the README begins with the header, and lists the files that are there."""
    settings = Settings.from_dict(about["settings"])
    metrics = studies.list_metrics(folder)
    write_codebook(folder, settings, metrics)
    _write(folder / "rubric.md", _write_rubric(about))
    for name, versions in (("instructions.md", about["instructions"]), ("consent.md", about["consents"])):
        if versions:
            _write(folder / name, _write_versions(versions))
    evaluations = list(studies.list_studies(folder))
    title = format_title(about)
    datasheet = write_datasheet(about, figures, settings, title=title, evaluations=evaluations, metrics=metrics)
    _write(folder / DATASHEET, datasheet)
    # The last three are written after this text, and still belong into its list.
    names = {*(each.name for each in folder.iterdir()), README, "manifest.json", "SHA256SUMS"}
    readme = [
        *(header, f"# {title}", "", *_introduce(citation)),
        *("", "## Files", "", "| File | Contents |", "|---|---|", *_list_files(names)),
        *("", "## Included judgments", "", *_count_judgments(about)),
        *("", "## Selection and settings", "", *_list_choices(settings)),
        *("", "## Agreement", "", *write_agreement(figures)),
        *(_list_changes(changes) if changes else ()),
        *list_evaluations(evaluations),
        *("## Loading the data", "", *_LOADING),
    ]
    _write(folder / README, readme)


def describe_file(name: str) -> str:
    """Return what a file of a set holds."""
    if name in FILES:
        return FILES[name]
    if description := studies.describe_file(name):
        return description
    endings = sorted(MOCHA, key=len, reverse=True)
    return next((MOCHA[ending] for ending in endings if name.endswith(ending)), "")


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


def format_title(about: Terms) -> str:
    return f"{about['project']['name']}, judgment set {about['set']['number']}: {about['set']['name']}"


def _introduce(citation: citing.Citation) -> Iterator[str]:
    yield citation.about
    yield ""
    yield (
        "A judgment set is a snapshot that never changes. Judgments given later are part of later sets, and each set "
        "lists what changed since the previous one. If there is a file `RETIRED.md` beside this one, the set has been "
        "retired and should not be used: that file gives the reason and the replacement, if there is one."
    )
    yield from ("", "## How to cite", "", f"> {citing.format_sentence(citation)}", "")
    yield f"`{citing.BIBTEX}` has this reference for BibTeX, and `{citing.CFF}` for other tools."
    for name, sha256 in citation.fingerprints:
        yield f"The SHA-256 of `{name}`, which has every judgment of the set, is `{sha256}`."


def _list_files(names: Iterable[str]) -> Iterator[str]:
    for name in sorted(names, key=str.encode):
        yield f"| `{name}` | {describe_file(name)} |"


def _count_judgments(about: Terms) -> Iterator[str]:
    counts = about["counts"]
    yield from ("| Judgments | Number |", "|---|---:|")
    yield f"| Included in gold scores and agreement | {counts['n_included']:,} |"
    for reason, n in counts["left_out"].items():
        note = f" ({REASON_NOTES[reason]})" if reason in REASON_NOTES else ""
        yield f"| Excluded: {escape_cell(reason)}{note} | {n:,} |"
    yield f"| Total | {counts['n_total']:,} |"
    yield ""
    yield (
        f"The long file has {counts['n_rows']:,} rows: every judgment within the selection below, included or not. The "
        "column `enters` tells whether a judgment is included, and `left_out_reason` why it is not. Judgments outside "
        "the selection, and work that annotators removed when they withdrew their consent, are in no file."
    )
    if note := describe_imported(about):
        yield from ("", note)


def _list_choices(settings: Settings) -> Iterator[str]:
    yield from (f"- {name}: {join_lines(value)}" for name, value in settings.list_choices())


def _list_changes(changes: dict[str, Any]) -> Iterator[str]:
    against, judgments = changes["against"], changes["judgments"]
    yield from (f"## Changes since set {against['number']}, {join_lines(against['name'])}", "")
    yield from (
        f"- {each['name']}: {join_lines(each['before'])} → {join_lines(each['after'])}" for each in changes["settings"]
    )
    yield f"- Judgments included: {changes['n_included']['before']:,} → {changes['n_included']['after']:,}"
    for key, words in CHANGED.items():
        yield f"- {words}: {judgments[key]:,}"
    for each in changes["agreement"]:
        alphas = (f"{alpha:.4f}" if alpha is not None else "none" for alpha in (each["before"], each["after"]))
        yield f"- Alpha of {each['criterion']} ({each['scale']}, {each['level']}): {' → '.join(alphas)}"
    yield ""


def list_evaluations(found: Sequence[Study]) -> Iterator[str]:
    """Yield the section on metric evaluations; nothing where a set has none."""
    if not found:
        return
    # Here, as loading all kinds takes a tenth of the time of freezing a set, and most sets hold none.
    from results.studies.presentation import name_counted_unit

    yield from ("## Metric evaluations", "")
    yield (
        "Each metric evaluation covers the candidates selected in its own settings, which may differ from those of "
        "this set. `metric_scores.csv` has the scores of its metrics for the candidates of this set."
    )
    yield ""
    for study in found:
        result = study.result or {}
        metrics = ", ".join(join_lines(metric["label"]) for metric in result["metrics"])
        kind, name = Study.Kind(study.kind).label, join_lines(study.name)
        called = kind if name == kind else f"{name} ({kind})"
        unit = name_counted_unit(study).replace("answers", "candidates")
        yield (
            f"- {study.number}. {called}, `study-{study.number}.json`: {result['n']:,} {unit}; metrics: {metrics}; "
            f"seed {study.seed}; data of {result['read_at'][:10]}"
            f"{', and judgments have changed since' if result.get('judgments_changed_since') else ''}"
        )
    yield ""


_LOADING = (
    "```python",
    "import pandas as pd",
    "",
    'judgments = pd.read_parquet("judgments.parquet")',
    'scores = pd.read_parquet("aggregated.parquet")',
    "```",
    "",
    # Without both arguments, R and pandas take a source named NA for a missing value, and the ID 007 for the number 7.
    "In R, where texts named NA stay texts and IDs such as 007 keep their zeros:",
    "",
    "```r",
    'ids <- c("passage_id", "question_id", "candidate_id")',
    'texts <- setNames(rep("character", 3), ids)',
    'judgments <- read.csv("long.csv", na.strings = "", colClasses = texts)',
    'scores <- read.csv("aggregated.csv", na.strings = "", colClasses = texts)',
    "```",
    "",
    (
        "In the CSV files, texts that a spreadsheet would read as a formula start with an apostrophe. The JSON lines "
        "and Parquet files have every text exactly as stored. Times are in UTC. Annotators appear under random "
        "pseudonyms."
    ),
)


def _write_rubric(about: Terms) -> Iterator[str]:
    for rubric in about["rubrics"]:
        yield from (f"# {join_lines(rubric['name'])}, version {rubric['version']}", "")
        if rubric["is_imported"]:
            yield from ("Made for judgments that were collected elsewhere.", "")
        for each in rubric["criteria"]:
            kind = "Whole points" if each["kind"] == ScaleKind.ORDINAL else "A slider"
            yield from (f"## {join_lines(each['name'])} (`{each['key']}`)", "")
            if each["statement"]:
                yield from (each["statement"], "")
            turned = "; reversed" if each["is_reversed"] else ""
            yield f"{kind} from {each['low']} to {each['high']}, {each['level']}{turned}"
            yield ""
            yield from (f"- {_format_anchor(anchor)}" for anchor in each["anchors"])
            yield ""


def _format_anchor(anchor: Terms) -> str:
    return f"{anchor['value']}: {join_lines(anchor['text'])}"


def _write_versions(versions: list[Terms]) -> Iterator[str]:
    for version in versions:
        yield from (f"<!-- version {version['version']} -->", "", version["text"], "")
