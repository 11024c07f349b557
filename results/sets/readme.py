"""The texts of a set: README with citation, datasheet, codebook, rubric, instructions and consent."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from measures.rubric import ScaleKind
from results.models import Study
from results.scope.gold_settings import PASSAGES
from results.sets import cards, citing, studies
from results.sets.archive import compute_sha256, measure_file
from results.sets.codebook import write_codebook
from results.sets.parquet import name_tables
from results.sets.provenance import Terms
from results.sets.settings import Settings
from results.studies.tables import Wording

README, DATASHEET = "README.md", "datasheet.md"
SIMULATED = "has_simulated_annotators"
"""The key of the figures that tells whether some judgments are by programs."""

# What these files say was written into sets from the first version on, and keeps its words: the same judgments have
# to give the same bytes.
FILES = {
    "README.md": "what the set holds, and how to cite it",
    "CITATION.cff": "how to cite it, in the Citation File Format",
    "citation.bib": "how to cite it, for BibTeX",
    "datasheet.md": Wording(
        "what, by whom, how, on which terms, agreement, limits",
        page="contents, annotators, method, terms, agreement, limits",
    ),
    "codebook.csv": "each column of each table: meaning, type, unit, values",
    "long.csv": Wording(
        "a row for each judgment, whether it enters or not, with the reason",
        page="a row for each judgment, included or not, with the reason",
    ),
    "long.jsonl": Wording(
        "the same rows as JSON lines, each text exactly as it is stored: all others follow from it",
        page="the same rows as JSON lines, every text exactly as stored",
    ),
    "judgments.parquet": "the same rows for pandas, DuckDB and datasets",
    "croissant.json": "the Parquet files and their columns in the Croissant format",
    **{
        f"{stem}.parquet": f"the rows of {stem}{ending} with their types, each text exactly"
        for stem, ending in (
            *(("aggregated", ".csv"), ("annotators", ".csv"), ("metric_scores", ".csv")),
            *(("candidates", ".jsonl"), ("passages", ".jsonl")),
        )
    },
    "aggregated.csv": "a row for each candidate and criterion: n, mean, median, sd, z, gold score, each score",
    "wide.csv": "a row for each candidate and criterion, a column for each judgment",
    "annotators.csv": Wording(
        "how much each annotator gave, and the mean and deviation that z-scores rest on",
        page="judgments of each annotator, with the mean and deviation for z scores",
    ),
    "survey_answers.csv": "answers to surveys before and after the work, of annotators who allowed their publication",
    "candidates.jsonl": Wording("the candidates that the judgments are of", page="the judged candidates"),
    "passages.jsonl": Wording("the passages that they belong to", page="their passages"),
    "figures.json": "counts and agreement of each criterion",
    "changes.json": Wording("what changed since the set before", page="changes since the previous set"),
    "set.json": Wording(
        "the settings, the batches, the rubric and every text that annotators went by",
        page="settings, batches, rubric, and every text that annotators read",
    ),
    "metric_scores.csv": Wording(
        "a row for each candidate, a column for each metric that the studies compare",
        page="a row for each candidate, a column for each metric of the evaluations",
    ),
    "metrics.json": Wording(
        "each of these metrics with its settings, and what its scores depend on",
        page="settings and versions of these metrics",
    ),
    "rubric.md": Wording("what was asked, and on which scale", page="criteria and scales"),
    "instructions.md": "what annotators read before they rated",
    "consent.md": "what annotators agreed to",
    "manifest.json": "size and SHA-256 of each file",
    "SHA256SUMS": "the SHA-256 of each file, for sha256sum --check SHA256SUMS",
}
CHANGED = {
    "added": Wording("Rows of the long file that are new", page="Rows added to the long file"),
    "gone": Wording("Rows that are no longer there", page="Rows removed"),
    "changed_score": Wording("Rows with another score", page="Rows with a different score"),
    "changed_entering": Wording(
        "Rows that enter and did not, or the other way round", page="Rows now included or excluded"
    ),
    "same": Wording("Rows that are the same", page="Unchanged rows"),
}
MOCHA = {
    "-train.json": "MOCHA's format with scores, split train",
    "-dev.json": "MOCHA's format with scores, split dev",
    "-test.json": "MOCHA's format with scores, split test",
    "-other.json": "MOCHA's format with scores, candidates of other splits or of none",
    "-test-no-scores.json": "split test without scores",
    "-minimal_pairs.json": "minimal pairs",
}


# Pages name kinds by `Study.Kind.label`.
KINDS: dict[str, str] = {
    Study.Kind.CORRELATION: "correlation per question",
    Study.Kind.SYSTEMS: "correlation per system",
    Study.Kind.SIGNIFICANCE: "metric against metric",
    Study.Kind.SWEEP: "weight of the bonus",
    Study.Kind.PAIRS: "minimal pairs",
    Study.Kind.ERRORS: "largest errors",
}


def write_cards(folder: Path, about: Terms, figures: dict[str, Any]) -> str:
    """Write the reference to the set and croissant.json; return the header that makes the README a dataset card."""
    settings = Settings.from_dict(about["settings"])
    sha256 = compute_sha256(folder / citing.FINGERPRINTED)
    citation = describe_citation(about, figures, fingerprints=[(citing.FINGERPRINTED, sha256)])
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
    others = "" if is_human else ", some of them by programs"
    return f"{judgments}{others}, frozen on {about['snapshot_at'][:10]} with {about['code_version']}."


def write_texts(
    folder: Path, about: Terms, figures: dict[str, Any], changes: dict[str, Any] | None, *, header: str
) -> None:
    """Write every file of prose; the README begins with the header, and lists the files that are there."""
    settings = Settings.from_dict(about["settings"])
    columns = studies.list_metrics(folder)
    write_codebook(folder, settings, columns)
    _write(folder / "rubric.md", _write_rubric(about))
    for name, versions in (("instructions.md", about["instructions"]), ("consent.md", about["consents"])):
        if versions:
            _write(folder / name, _write_versions(versions))
    evaluations = list(studies.list_studies(folder))
    datasheet = [*_write_datasheet(about, figures, settings), *_list_limits_of_evaluations(evaluations, columns)]
    _write(folder / DATASHEET, datasheet)
    # The last three are written after this text, and still belong into its list.
    names = {*(each.name for each in folder.iterdir()), README, "manifest.json", "SHA256SUMS"}
    readme = [header, *_write_readme(about, figures, changes, settings, names), *_list_evaluations(evaluations)]
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


def format_citation(about: Terms, figures: dict[str, Any]) -> str:
    """Return how a paper names the set; its authors are the project's to name."""
    day = about["snapshot_at"][:10]
    what = _name_judgments(figures)
    return f"{format_title(about)}. {what[0].upper()}{what[1:]}, frozen on {day} with {about['code_version']}."


def _name_judgments(figures: dict[str, Any]) -> str:
    """Return what the judgments are: nobody may take a program's for a person's."""
    return "judgments, some of them by programs" if figures[SIMULATED] else "human judgments"


def _write_readme(
    about: Terms, figures: dict[str, Any], changes: dict[str, Any] | None, settings: Settings, names: set[str]
) -> Iterator[str]:
    counts = about["counts"]
    yield from (f"# {format_title(about)}", "")
    yield (
        f"{counts['n_included']:,} {_name_judgments(figures)}, of answers to questions, frozen on "
        f"{about['snapshot_at'][:10]}. "
        "A frozen set never changes; a later one says what changed. If a file RETIRED.md stands beside this one, the "
        "set was retired, and that file says why and by which set it is succeeded."
    )
    yield from ("", "## How to cite it", "", f"> {format_citation(about, figures)}", "")
    yield from (f"`{citing.BIBTEX}` has an entry for BibTeX, `{citing.CFF}` the same for other tools.", "")
    yield from ("## What it holds", "", "| file | what it is |", "|---|---|")
    for name in sorted(names, key=str.encode):
        yield f"| `{name}` | {describe_file(name)} |"
    yield from ("", "## What enters", "", "| judgments | |", "|---|---:|")
    yield f"| enter gold scores and agreement | {counts['n_included']:,} |"
    for reason, n in counts["left_out"].items():
        yield f"| left out: {_escape_cell(reason)} | {n:,} |"
    yield f"| in all | {counts['n_total']:,} |"
    yield ""
    yield (
        f"The long file has {counts['n_rows']:,} rows: what lies within the choice of this set, whether it enters or "
        "not. What annotators took out when they withdrew their consent is in no file."
    )
    yield from ("", "## What was chosen", "")
    yield from (f"- {name}: {_flatten(value)}" for name, value in settings.list_choices())
    yield from ("", "## Agreement", "", *_write_agreement(figures))
    if changes:
        yield from _write_changes(changes)
    yield from ("## To load it", "", "```python", "import pandas as pd", "")
    yield 'judgments = pd.read_parquet("judgments.parquet")'
    yield from ('scores = pd.read_parquet("aggregated.parquet")', "```", "")
    yield (
        "In the CSV files a text that a spreadsheet would take for a formula has an apostrophe in front; JSON lines "
        "and Parquet hold every text exactly. Times are in UTC. Annotators appear by random pseudonyms."
    )


def _write_changes(changes: dict[str, Any]) -> Iterator[str]:
    against, judgments = changes["against"], changes["judgments"]
    yield from (f"## What changed since set {against['number']}, {_flatten(against['name'])}", "")
    yield from (
        f"- {each['name']}: {_flatten(each['before'])} → {_flatten(each['after'])}" for each in changes["settings"]
    )
    yield f"- Judgments that enter: {changes['n_included']['before']:,} → {changes['n_included']['after']:,}"
    for key, words in CHANGED.items():
        yield f"- {words}: {judgments[key]:,}"
    for each in changes["agreement"]:
        alphas = (f"{alpha:.4f}" if alpha is not None else "none" for alpha in (each["before"], each["after"]))
        yield f"- Alpha of {each['criterion']} ({each['scale']}, {each['level']}): {' → '.join(alphas)}"
    yield ""


def _write_agreement(figures: dict[str, Any]) -> Iterator[str]:
    yield "| criterion | scale | level | alpha | 95 % interval | candidates | annotators | ratings | single |"
    yield "|---|---|---|---:|---:|---:|---:|---:|---:|"
    for each in figures["criteria"]:
        found, interval = each["agreement"], choose_interval(each)
        alpha = f"{found['alpha']:.4f}" if found["alpha"] is not None else f"undefined: {found['undefined']}"
        ends = (
            f"{interval['low']:.4f} to {interval['high']:.4f}" if interval["low"] is not None else interval["undefined"]
        )
        who = "unknown" if found["n_annotators"] is None else f"{found['n_annotators']:,}"
        yield (
            f"| {each['criterion']} | {each['scale']} | {each['level']} | {alpha} | {ends} | {found['n_units']:,} "
            f"| {who} | {found['n_ratings']:,} | {found['n_single']:,} |"
        )
    yield ""
    if figures["criteria"]:
        first = figures["criteria"][0]
        yield (
            f"Krippendorff's alpha; candidates with two ratings or more, and their ratings; single: candidates "
            f"with one rating, which enter gold scores only. {_describe_intervals(first)}"
            "other levels, and alpha by dataset, split and source."
        )
        yield ""


def choose_interval(criterion: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the interval to report: over passages where candidates share them, and always over candidates before."""
    is_over_passages = criterion["interval_over_passages"].get("method") and criterion["interval_unit"] == PASSAGES
    name = "interval_over_passages" if is_over_passages else "interval_over_candidates"
    interval: Mapping[str, Any] = criterion[name]
    return interval


def _describe_intervals(criterion: dict[str, Any]) -> str:
    interval = choose_interval(criterion)
    if interval.get("method") is None:
        return (
            f"Intervals: percentile bootstrap, {interval['n_resamples']:,} resamples of candidates, seed "
            f"{interval['seed']}. figures.json has intervals over whole passages, "
        )
    unit, other = ("passages", "candidates") if criterion["interval_unit"] == PASSAGES else ("candidates", "passages")
    n = f" ({interval['n_resampled']:,} for {criterion['criterion']})" if "n_resampled" in interval else ""
    return f"Intervals: jackknife with Student's t over {unit}{n}. figures.json has intervals over {other}, "


def _write_datasheet(about: Terms, figures: dict[str, Any], settings: Settings) -> Iterator[str]:
    yield from (f"# Datasheet: {format_title(about)}", "", "## What", "")
    for each in figures["criteria"]:
        yield (
            f"- {each['criterion']} ({each['scale']}): {each['n_judgments']:,} judgments of "
            f"{each['n_candidates']:,} candidates enter."
        )
    yield from ("", "## By whom", "")
    yield f"- Annotators whose judgments enter and who are told apart: {figures['n_annotators']:,}."
    if figures["has_unknown_annotators"]:
        yield "- Some judgments were imported without names: how many people gave them is unknown."
    if figures[SIMULATED]:
        yield "- Some judgments were given by simulated annotators: by programs, not by people."
    yield "- Annotators are named by random pseudonyms of this project; nothing here leads back to a person."
    yield from ("", "## How", "", "| batch | kind | wanted per candidate | HIT size | rubric | judgments | pay |")
    yield "|---|---|---:|---:|---:|---:|---|"
    for batch in about["batches"]:
        yield (
            f"| {batch['number']} {_escape_cell(batch['name'])} | {batch['kind']} "
            f"| {_format_count(batch['judgments_wanted'])} | {_format_count(batch['hit_size'])} "
            f"| {batch['rubric_version']} | {batch['n_judgments']:,} | {_describe_pay(batch)} |"
        )
    yield from ("", f"Gold score: {settings.gold_in_words}.", "", "## Consent", "")
    yield _describe_consent(about)
    yield from ("", "## Agreement", "", *_write_agreement(figures), "## Limits", "")
    yield from _list_limits(about, figures, settings)


def _list_limits(about: Terms, figures: dict[str, Any], settings: Settings) -> Iterator[str]:
    left_out = sum(about["counts"]["left_out"].values())
    yield f"- {left_out:,} judgments do not enter; README.md says why."
    if not settings.is_blind_only:
        yield "- Judgments by people who could see the sources enter, if there are any; `is_blind` tells them apart."
    for each in figures["criteria"]:
        if each["agreement"]["alpha"] is None:
            yield f"- Agreement on {each['criterion']} is undefined: {each['agreement']['undefined']}."
    yield "- Candidates of one passage are not independent of each other: intervals over whole passages are wider."
    if not settings.with_texts:
        yield "- The texts are not in this set."
    if settings.with_surveys:
        yield "- Answers to surveys are in this set, of annotators who allowed their publication."
    if settings.with_comments:
        yield "- Annotators' comments are in this set. They are free text: people may have written personal data."


def _describe_consent(about: Terms) -> str:
    versions = [str(each["version"]) for each in about["consents"]]
    without = [str(batch["number"]) for batch in about["batches"] if batch["consent_version"] is None]
    agreed = f"Annotators agreed to consent.md, version {', '.join(versions)}, before they rated." if versions else ""
    rest = f"No consent text was asked for in batch {', '.join(without)}." if without else ""
    return " ".join(each for each in (agreed, rest) if each)


def _write_rubric(about: Terms) -> Iterator[str]:
    for rubric in about["rubrics"]:
        yield from (f"# {_flatten(rubric['name'])}, version {rubric['version']}", "")
        if rubric["is_imported"]:
            yield from ("Made for judgments that were collected elsewhere.", "")
        for each in rubric["criteria"]:
            kind = "Whole points" if each["kind"] == ScaleKind.ORDINAL else "A slider"
            yield from (f"## {_flatten(each['name'])} (`{each['key']}`)", "")
            if each["statement"]:
                yield from (each["statement"], "")
            turned = "; reversed" if each["is_reversed"] else ""
            yield f"{kind} from {each['low']} to {each['high']}, {each['level']}{turned}"
            yield ""
            yield from (f"- {_format_anchor(anchor)}" for anchor in each["anchors"])
            yield ""


def _format_anchor(anchor: Terms) -> str:
    return f"{anchor['value']}: {_flatten(anchor['text'])}"


def _write_versions(versions: list[Terms]) -> Iterator[str]:
    for version in versions:
        yield from (f"<!-- version {version['version']} -->", "", version["text"], "")


def _describe_pay(batch: Terms) -> str:
    if batch["kind"] == "imported":
        return "not known"
    if not (batch["cents_per_hit"] or batch["cents_per_item"]):
        return "none"
    hit = "a full HIT, its share with fewer items" if batch.get("is_pay_prorated") else "a HIT"
    parts = [(batch["cents_per_hit"], hit), (batch["cents_per_item"], "an item")]
    return ", ".join(f"{cents / 100:.2f} {of}" for cents, of in parts if cents)


def _list_evaluations(found: list[Study]) -> Iterator[str]:
    """Yield what the README says of each evaluation."""
    if not found:
        return
    yield from ("", "## Studies", "")
    yield (
        "Each study rests on the answers that its own settings name, which need not be those of this set. "
        "`metric_scores.csv` has the scores of its metrics for the candidates of this set."
    )
    yield ""
    for study in found:
        result = study.result or {}
        metrics = ", ".join(_flatten(metric["label"]) for metric in result["metrics"])
        yield (
            f"- Study {study.number}, {_flatten(study.name)} (`study-{study.number}.json`): {KINDS[study.kind]}, "
            f"{result['n']:,} answers, {metrics}; seed {study.seed}, read on {result['read_at'][:10]}"
        )


def _list_limits_of_evaluations(found: list[Study], columns: list[Terms]) -> Iterator[str]:
    if not found:
        return
    numbers = ", ".join(str(study.number) for study in found)
    yield f"- Studies {numbers}: their figures are of the judgments and scores as they were when each was computed."
    later = [each["column"] for each in columns if not each["is_run_of_studies"]]
    if later:
        yield (
            f"- {', '.join(later)} in metric_scores.csv: scored anew after a study took the scores; metrics.json and "
            "the study name both runs."
        )
    if any(study.kind == Study.Kind.ERRORS for study in found):
        yield "- Causes of errors are in the words of the project's researchers."


def _format_count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _flatten(text: str) -> str:
    """Return a text from outside on one line of Markdown."""
    return " ".join(text.split())


def _escape_cell(text: str) -> str:
    return _flatten(text).replace("|", "\\|")
