import re
from collections import Counter, defaultdict
from math import ceil
from statistics import mean

import pytest

from demo import corpus
from demo.corpus import DemoCandidate, DemoPassage, DemoQuestion

PASSAGES = corpus.passages()
QUESTIONS = [question for passage in PASSAGES for question in passage.questions]
CANDIDATES = [candidate for question in QUESTIONS for candidate in question.candidates]
TYPES = {"yes-no", "entity", "description", "other"}
SOURCES = {"kestrel-large", "paraphrase-loop", "span-reader", "human"}
OPINIONS = {"Yes", "No", "Depends"}


def plain(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s]", "", text.lower()).split())


def normalise_text(passage: DemoPassage) -> str:
    return "\n".join([passage.passage, *(document["text"] for document in passage.documents)])


def test_there_is_enough_of_everything() -> None:
    assert len(PASSAGES) >= 12
    assert len(QUESTIONS) >= 40
    assert len(CANDIDATES) >= 160
    assert len({passage.domain for passage in PASSAGES}) >= 10
    assert {question.type for question in QUESTIONS} == TYPES
    assert {candidate.source for candidate in CANDIDATES} == SOURCES


@pytest.mark.parametrize("passage", PASSAGES, ids=lambda passage: passage.id)
def test_passage_is_a_readable_text_of_60_to_250_words(passage: DemoPassage) -> None:
    assert 60 <= passage.n_words <= 250
    assert bool(passage.passage) != bool(passage.documents)
    assert all(document["title"] and document["text"] for document in passage.documents)
    assert passage.title
    assert "  " not in normalise_text(passage)


def test_some_passage_is_a_list_of_documents() -> None:
    assert any(len(passage.documents) > 1 for passage in PASSAGES)


def test_ids_are_unique_and_tell_nothing_of_the_source() -> None:
    for things in (PASSAGES, QUESTIONS, CANDIDATES):
        ids = [thing.id for thing in things]
        assert len(set(ids)) == len(ids)
    assert not [c.id for c in CANDIDATES if any(source in c.id for source in SOURCES)]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_question_has_references_and_candidates_that_fit_its_type(question: DemoQuestion) -> None:
    assert len(question.references) >= 2
    assert question.candidates
    assert question.text.endswith("?")
    assert bool(question.entities) == (question.type == "entity")
    opinions = {reference.opinion for reference in question.references}
    opinions |= {candidate.opinion for candidate in question.candidates}
    assert opinions <= OPINIONS if question.type == "yes-no" else opinions == {""}


def test_candidates_of_a_question_differ_and_none_equals_a_reference() -> None:
    for question in QUESTIONS:
        texts = [plain(candidate.text) for candidate in question.candidates]
        assert len(set(texts)) == len(texts), question.id
        assert not set(texts) & {plain(reference.text) for reference in question.references}, question.id


def test_all_opinions_occur_in_references_and_candidates() -> None:
    assert {r.opinion for question in QUESTIONS for r in question.references} - {""} == OPINIONS
    assert {candidate.opinion for candidate in CANDIDATES} - {""} == OPINIONS


def test_spans_are_in_their_passage() -> None:
    for passage in PASSAGES:
        for question in passage.questions:
            assert bool(question.marked_span) == (corpus.KINDS[passage.dataset] == "span")
            assert question.marked_span in normalise_text(passage), question.id
            spans = [c.text for c in question.candidates if c.source == "span-reader"]
            assert all(span in normalise_text(passage) for span in spans), question.id


def test_gold_entities_are_in_their_passage() -> None:
    for passage in PASSAGES:
        for question in passage.questions:
            assert all(entity in normalise_text(passage) for entity in question.entities), question.id


def test_scores_use_the_whole_scale_and_so_does_each_source() -> None:
    scores = Counter(candidate.true_score for candidate in CANDIDATES)
    assert set(scores) == {1, 2, 3, 4, 5}
    assert min(scores.values()) >= 0.1 * len(CANDIDATES)
    assert max(scores.values()) <= 0.4 * len(CANDIDATES)
    by_source: dict[str, list[int]] = defaultdict(list)
    for candidate in CANDIDATES:
        by_source[candidate.source].append(candidate.true_score)
    assert all(len(of_one) >= 30 and {1, 3, 4, 5} <= set(of_one) for of_one in by_source.values())
    means = [mean(of_one) for of_one in by_source.values()]
    assert max(means) - min(means) > 0.5


def test_wrong_opinion_never_scores_above_three() -> None:
    def agrees(candidate: DemoCandidate, question: DemoQuestion) -> bool:
        return candidate.opinion in {reference.opinion for reference in question.references}

    wrong = [c for q in QUESTIONS if q.type == "yes-no" for c in q.candidates if not agrees(c, q)]
    assert len(wrong) > 5
    assert max(candidate.true_score for candidate in wrong) <= 3


def test_passages_cut_into_one_and_into_two_hits() -> None:
    sizes = Counter(passage.n_candidates for passage in PASSAGES)
    assert len(sizes) >= 4
    assert {ceil(n / 10) for n in sizes} == {1, 2}
    assert 10 in sizes
    assert min(sizes) < 10
    assert max(sizes) > 10


def test_the_readme_counts_right() -> None:
    readme = (corpus.FOLDER / "README.md").read_text(encoding="utf-8")
    n_references = sum(len(question.references) for question in QUESTIONS)
    assert f"{len(QUESTIONS)} questions, {n_references} references and {len(CANDIDATES)} candidate" in readme
    assert len(PASSAGES) == 15
    assert len({passage.domain for passage in PASSAGES}) == 14
    sizes = [passage.n_candidates for passage in PASSAGES]
    assert f"{min(sizes)} to {max(sizes)} candidates" in readme


def test_two_datasets_each_with_all_splits() -> None:
    splits: dict[str, set[str]] = defaultdict(set)
    for passage in PASSAGES:
        splits[passage.dataset].add(passage.split)
    assert set(splits) == set(corpus.KINDS)
    assert all(names == {"train", "dev", "test"} for names in splits.values())


def test_rows_for_the_import_carry_no_true_score() -> None:
    rows = list(corpus.rows())
    assert len(rows) == len(CANDIDATES)
    assert len({tuple(row) for row in rows}) == 1
    assert not [key for key in rows[0] if "score" in key]
    assert set(corpus.true_scores()) == {row["candidate_id"] for row in rows}


def test_qualification_has_ten_items_on_texts_of_their_own() -> None:
    test = corpus.qualification()
    answers = corpus.qualification_answers()
    assert len(answers) == len({answer.id for answer in answers}) == 10
    assert test["criterion"] == "correctness"
    assert test["pass_share"] == 0.8
    assert {passage["id"] for passage in test["passages"]}.isdisjoint(passage.id for passage in PASSAGES)
    assert all(60 <= len(passage["passage"].split()) <= 250 for passage in test["passages"])


def test_qualification_items_are_explained_and_cannot_be_passed_by_one_key() -> None:
    answers = corpus.qualification_answers()
    assert all(len(answer.explanation.split()) >= 10 for answer in answers)
    assert {answer.expected for answer in answers} == {1, 2, 3, 4, 5}
    assert {answer.tolerance for answer in answers} <= {0, 1}
    for pressed in range(1, 6):
        right = sum(abs(pressed - answer.expected) <= answer.tolerance for answer in answers)
        assert right / len(answers) < corpus.qualification()["pass_share"]
