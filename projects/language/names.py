"""Names that code, files and figures carry in English, as pages say them: in the language of the page.

What stands in a file or a table keeps its name; only where a page shows it is it said by `said`.
"""

from django.utils.translation import gettext, gettext_noop

NAMES = frozenset(
    (
        # levels of measurement
        *(gettext_noop("nominal"), gettext_noop("ordinal"), gettext_noop("interval"), gettext_noop("ratio")),
        # what results are split by
        *(gettext_noop("dataset"), gettext_noop("split"), gettext_noop("source")),
        *(gettext_noop("question type"), gettext_noop("stage"), gettext_noop("batch"), gettext_noop("criterion")),
        # the data, and types of questions
        *(gettext_noop("passages"), gettext_noop("questions"), gettext_noop("candidates"), gettext_noop("type")),
        *(gettext_noop("yes-no"), gettext_noop("entity"), gettext_noop("description"), gettext_noop("other")),
        gettext_noop("none"),
        # what the two of a minimal pair differ in
        *(gettext_noop("coreference"), gettext_noop("hyponymy"), gettext_noop("negation"), gettext_noop("syntax")),
        *(gettext_noop("semantic role"), gettext_noop("word sense")),
        # how far a job is, in what it counts
        *(gettext_noop("kB read"), gettext_noop("rows written"), gettext_noop("rows")),
        # why a judgment does not count
        *(gettext_noop("removed"), gettext_noop("rejected"), gettext_noop("surplus"), gettext_noop("set aside")),
        *(gettext_noop("consent withdrawn"), gettext_noop("withdrawn"), gettext_noop("cannot be judged")),
        *(gettext_noop("not blind"), gettext_noop("judged anew"), gettext_noop("another stage")),
        # why there is no agreement, or no interval of it
        gettext_noop("no judgments"),
        gettext_noop("one annotator only: agreement needs two ratings of the same unit"),
        gettext_noop("no unit has two ratings"),
        gettext_noop("the ratio level needs a scale without negative values"),
        gettext_noop("all ratings are equal"),
        gettext_noop("one unit only, so there is nothing to resample"),
        gettext_noop("one group only, so there is nothing to resample"),
        gettext_noop("every resample is undefined"),
        gettext_noop("the times of the ratings are not known"),
        # why two annotators, or one and the others, cannot be compared
        gettext_noop("some annotators are unknown"),
        gettext_noop("no two annotators have rated the same item"),
        gettext_noop("both gave one and the same score throughout"),
        gettext_noop("fewer than three pairs"),
        gettext_noop("all scores are equal"),
        gettext_noop("what they are compared with does not vary"),
        gettext_noop("nobody else has rated the same items"),
        gettext_noop("without this annotator there is no agreement to compute"),
        gettext_noop("fewer than three items with two judgments"),
        gettext_noop("the judgments do not vary"),
        # gold scores and scores of systems
        *(gettext_noop("mean"), gettext_noop("median"), gettext_noop("dataset and source")),
        gettext_noop("the criteria have different scales"),
        gettext_noop("no ratings on some criterion"),
        gettext_noop("no rating has a z score"),
        gettext_noop("no study is defined"),
    )
)


def said(name: str) -> str:
    """A name in the language that is spoken; what is not known as one stays as it is."""
    spaced = name.replace("_", " ")
    return gettext(spaced) if spaced in NAMES else name


INVISIBLE = {code: f"\\u{code:04x}" for code in [*range(0x20), *range(0x7F, 0xA0), *range(0x200B, 0x2010)]} | {
    code: f"\\u{code:04x}" for code in [0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF]
}


def shorten_name(text: str, length: int = 100) -> str:
    """A name from outside, safe and short enough to stand in a sentence."""
    clean = text.translate(INVISIBLE)
    clean = clean.encode("utf-8", "backslashreplace").decode("utf-8")
    return clean if len(clean) <= length else clean[: length - 1] + "…"
