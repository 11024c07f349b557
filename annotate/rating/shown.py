"""The texts of the rating page and of pages like it: questions, references, candidates, and details of them.

Nothing here reveals where a text comes from or which item is a control.
"""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple, Required, TypedDict

from django.db import connection
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotate.models.conditions import is_item
from projects.database.prepared import prepared
from projects.models import Dataset, Passage, Project, Question

# The items of a layout in shown order. A control has a text of its own, or none if it shows its candidate's.
_SHOWN = """
SELECT i.id, i.question_id, q.text, q.span, q.type, q.entities, coalesce(i.shown_text, c.text), {opinion}, d.kind
FROM unnest(%(layout)s::bigint[]) WITH ORDINALITY AS shown (id, place)
JOIN annotate_item i ON i.id = shown.id
JOIN projects_question q ON q.id = i.question_id
JOIN projects_dataset d ON d.id = q.dataset_id
LEFT JOIN projects_candidate c ON c.id = i.candidate_id{joins}
ORDER BY shown.place
"""

_ITEMS = _SHOWN.format(opinion="''", joins="")

# A repeat, a degraded answer and a rated candidate show the opinion of the candidate they come from (`c`, `own`). A
# control made from a reference was never predicted an opinion, but an item without one among items that have one would
# stand out, and so would the reverse. Each such control is therefore paired with a candidate of its question in
# the batch (`beside`), and shows an opinion exactly if that one has any; `lot` is a hash of ids, so that the pair never
# changes. A right answer shows the opinion of its reference, and the reference of another question (`other`) one that
# none of this question's references has, if there is one. See docs/decisions/0009.
_ITEMS_WITH_OPINIONS = _SHOWN.format(
    opinion="coalesce(c.opinion, own.opinion, likely.opinion, '')",
    joins=f"""
LEFT JOIN annotate_item source ON source.id = i.made_from_id
LEFT JOIN projects_candidate own ON own.id = source.candidate_id
LEFT JOIN LATERAL (
    WITH beside AS (
        SELECT b.opinion, md5(coalesce(source.id, i.id) || '-' || b.id) AS lot
        FROM projects_candidate b JOIN annotate_item o ON o.candidate_id = b.id AND {is_item("o")}
        JOIN annotate_hit h ON h.id = o.hit_id AND h.batch_id = coalesce(source.pool_of_id, i.pool_of_id)
        WHERE b.question_id = i.question_id),
    right_ones AS (
        SELECT r.opinion, r.position, r.text = coalesce(source.shown_text, i.shown_text) AS is_it
        FROM projects_reference r WHERE r.question_id = i.question_id AND r.opinion <> '')
    SELECT CASE
        WHEN coalesce((SELECT opinion FROM beside ORDER BY lot LIMIT 1), '') = '' THEN ''
        WHEN coalesce(source.recipe, i.recipe) = 'other' THEN (
            SELECT opinion FROM beside WHERE opinion <> ''
            ORDER BY lower(opinion) IN (SELECT lower(opinion) FROM right_ones), lot LIMIT 1)
        ELSE coalesce(
            (SELECT opinion FROM right_ones ORDER BY is_it DESC, position LIMIT 1),
            (SELECT opinion FROM beside ORDER BY lot LIMIT 1)) END AS opinion
) likely ON c.id IS NULL AND own.id IS NULL""",
)
_REFERENCES = """
SELECT question_id, text, opinion FROM projects_reference WHERE question_id = ANY(%(questions)s::bigint[])
ORDER BY question_id, position
"""

TYPES: dict[str, str | Promise] = {
    Question.Type.YES_NO: _("yes-no question"),
    Question.Type.ENTITY: _("entity question"),
    Question.Type.DESCRIPTION: _("description question"),
    Question.Type.OTHER: _("other question"),
}


_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n){2,}")


def fold_blank_lines(text: str) -> str:
    """Return the text with each run of blank lines as one."""
    return _BLANK_LINES.sub("\n\n", text)


class ShownItem(NamedTuple):
    """An item as the page shows it, with nothing that tells where its text comes from."""

    id: int
    question_id: int
    question: str
    span: str
    type: str
    entities: list[str]
    text: str
    opinion: str
    dataset_kind: str


class ReferenceOnPage(TypedDict):
    """A reference, with its opinion if the project shows it."""

    text: str
    opinion: str


class DetailsOnPage(TypedDict, total=False):
    """The type and the correct entities of a question, if the project shows them."""

    type: str | Promise
    entities: Sequence[str]


class QuestionOnPage(DetailsOnPage, total=False):
    """A question; `span` is the passage of text that it asks about, missing if the page can't find and mark it.

    In question generation `text` is the answer that a question was to be generated for, and the items are questions.
    """

    text: Required[str]
    rates_questions: bool
    span: str
    is_span_missing: bool


def list_items(layout: Sequence[int], *, with_opinions: bool = False) -> list[ShownItem]:
    """Return the items of a layout in shown order."""
    statement = _ITEMS_WITH_OPINIONS if with_opinions else _ITEMS
    with connection.cursor() as cursor:
        prepared(statement).execute(cursor, {"layout": list(layout)})
        return [ShownItem(*row) for row in cursor.fetchall()]


def list_references(
    question_ids: Collection[int], project: Project, *, even_hidden: bool = False
) -> dict[int, list[ReferenceOnPage]]:
    """Return the references of each question, with their opinions if the project shows them.

    There are none in a project that hides references from annotators, unless the page is not for them.
    """
    references: dict[int, list[ReferenceOnPage]] = {}
    if project.hides_references and not even_hidden:
        return references
    with connection.cursor() as cursor:
        prepared(_REFERENCES).execute(cursor, {"questions": list(question_ids)})
        for question_id, text, opinion in cursor.fetchall():
            references.setdefault(question_id, []).append(describe_reference(text, opinion, project))
    return references


def describe_reference(text: str, opinion: str, project: Project) -> ReferenceOnPage:
    return {"text": text, "opinion": format_opinion(opinion) if project.shows_reference_opinion else ""}


def describe_question(item: ShownItem, passage: Passage, project: Project) -> QuestionOnPage:
    return {
        "text": item.question,
        "rates_questions": item.dataset_kind == Dataset.Kind.QUESTION_GENERATION,
        "span": item.span,
        "is_span_missing": bool(item.span) and not _has_words(passage, item.span),
        **describe_details(item.type, item.entities, project),
    }


def describe_details(type_: str, entities: Sequence[str], project: Project) -> DetailsOnPage:
    """Return the question's type and correct entities, each empty unless the project shows it."""
    return {
        "type": TYPES.get(type_, "") if project.shows_question_type else "",
        "entities": entities if project.shows_entities else [],
    }


def format_opinion(opinion: str) -> str:
    """Return an opinion in one spelling: `YES` from a file and `yes` from a model would reveal their sources."""
    return opinion.capitalize() if opinion.isalpha() else opinion


def _has_words(passage: Passage, words: str) -> bool:
    """Return whether the passage contains the words, with any spacing between them, as the page's script finds them."""
    texts = [passage.title, passage.text]
    for document in passage.documents or []:
        texts += [document.get("title", ""), document.get("text", "")]
    if any(words in text for text in texts):
        return True
    spaced = " ".join(words.split())
    return bool(spaced) and any(spaced in " ".join(text.split()) for text in texts)
