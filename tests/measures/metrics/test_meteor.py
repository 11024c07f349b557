"""METEOR: the numbers of the program itself, its process when things go wrong, and the form that needs no Java."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from measures.metrics import Answers, Broken, make, meteor, score, score_column
from measures.metrics.meteor_jar import MeteorProcess
from measures.metrics.wordnet import find_wordnet

needs_meteor = pytest.mark.skipif(
    bool(make("meteor_1_5").lacks()), reason=f"this machine lacks {make('meteor_1_5').lacks()}"
)
needs_wordnet = pytest.mark.skipif(find_wordnet() is None, reason="this machine lacks WordNet's data")

STATISTICS = " ".join(["1.0"] * 23)
# Reads a line for each question before it answers, as the program does; `answer` is what it says.
ANSWERING = "import sys\nfor line in sys.stdin: print({answer!r}, flush=True)"

# What the program itself says of each pair (EVAL), and of all of them together.
SAID = {
    ("address of DCU", "What is the address of DCU"): 0.3799461194352912,
    ("address of DCU", "What is the address of DCU?"): 0.3488928308275991,
    ("address of DCU?", "What is the address of DCU?"): 0.413486278708535,
    ("Where is DCU", "What is the address of DCU"): 0.2013904897745309,
    ("which location is DCU", "What is the address of DCU"): 0.16494845360824745,
    ("on the mat sat the cat", "the cat sat on the mat"): 0.4776696620223255,
    ("", "a b c"): 0.0,
    ("日本", "日本"): 1.0,
    ("the cat sat on the mat", "the cat sat on the mat"): 1.0,
    ("the", "the cat"): 0.11267605633802819,
}
SAID_OF_ALL = 0.3498563657987974


@pytest.fixture(scope="module")
def program() -> Iterator[MeteorProcess]:
    """One program for all: it takes many seconds to load its paraphrases."""
    started = MeteorProcess.start()
    yield started
    started.close()


@pytest.fixture
def _one_program(program: MeteorProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MeteorProcess, "start", lambda: program)
    monkeypatch.setattr(program, "close", lambda: None)


@needs_meteor
@pytest.mark.usefixtures("_one_program")
@pytest.mark.xdist_group("meteor")
def test_the_formula_gives_what_the_program_says_of_each_pair_and_of_all() -> None:
    nasty = ["two\nlines", "a\udce9b", "  ", "|||", "x" * 5000, "naïve – “quoted” 😀\r\n"]
    answers = Answers(
        candidates=[candidate for candidate, _ in SAID] + nasty,
        references=[[reference] for _, reference in SAID] + [[text, "cat"] for text in nasty],
    )
    found = score_column(make("meteor_1_5"), answers)
    np.testing.assert_allclose(found.values[: len(SAID)], list(SAID.values()), rtol=0, atol=1e-12)
    assert found.over(slice(len(SAID))) == pytest.approx(SAID_OF_ALL, abs=1e-12)
    # A text that is its own reference is matched whole, whatever it holds; what has no word is matched by nothing.
    assert found.values[len(SAID) :].tolist() == [1, 1, 0, 0, 1, 1]
    bars, none = score("meteor_1_5", ["the cat ||| sat", "the cat sat"], [["the cat"]] * 2)
    assert 0 < bars == none < 1
    # QAScore prints 38.0 for the first.
    assert round(100 * found.values[0], 1) == 38.0


@needs_meteor
@pytest.mark.usefixtures("_one_program")
@pytest.mark.xdist_group("meteor")
def test_the_best_reference_counts_and_mocha_leaves_marks_out() -> None:
    one, other = (pair for pair in list(SAID)[:2])
    references = [["Where is it", one[1]], [other[1]], ["", " "]]
    candidates = [one[0], other[0] + "!", "a"]
    values, reasons = score("meteor_1_5", candidates, references, tokeniser="mocha", with_reasons=True)
    np.testing.assert_allclose(values, [SAID[one], SAID[one], np.nan], rtol=0, atol=1e-12)
    assert reasons == ("", "", "no reference has a word")


@contextmanager
def running(script: str, patience_seconds: float = 30) -> Iterator[MeteorProcess]:
    process = MeteorProcess([sys.executable, "-c", script], folder=Path(), patience_seconds=patience_seconds)
    try:
        yield process
    finally:
        process.close()
    assert process.has_ended


@pytest.mark.parametrize(
    ("script", "patience", "message"),
    [
        ("import sys; sys.exit('No room for the heap')", 30, "code 1: No room for the heap"),
        ("input(); print('0 0'); input()", 30, "b'0 0.n' instead of 23 numbers"),
        ("input(); print('Warning: slow'); input()", 30, "instead of 23 numbers"),
        ("import time; input(); time.sleep(60)", 0.2, "code -9: it was killed or did not answer in time"),
    ],
)
def test_a_process_that_fails_says_so_and_is_gone(script: str, patience: float, message: str) -> None:
    with running(script, patience) as process, pytest.raises(Broken, match=message):
        process.statistics([("a", ["b"])])


def test_many_long_questions_do_not_block_the_pipe() -> None:
    with running(ANSWERING.format(answer=STATISTICS), patience_seconds=10) as process:
        statistics = process.statistics([("word " * 100, ["other " * 100])] * 2_000)
    assert (len(statistics), set(map(len, statistics))) == (2_000, {23})


def test_a_cancel_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stop(Exception):
        pass

    def on_progress(done: int, _total: int) -> None:
        if done:
            raise Stop

    command = [sys.executable, "-c", ANSWERING.format(answer=STATISTICS)]
    started = MeteorProcess(command, folder=Path())
    monkeypatch.setattr(MeteorProcess, "start", lambda: started)
    monkeypatch.setattr(meteor.Meteor15, "lacks", lambda _metric: "")
    metric = make("meteor_1_5")
    with pytest.raises(Stop):
        score_column(metric, Answers(candidates=["a"] * 101, references=[["a"]] * 101), on_progress)
    assert started.has_ended
    assert metric.process is None  # type: ignore[attr-defined]
    assert metric.settings() == {"against": "all", "tokeniser": "meteor"}


def test_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meteor, "find_java", lambda: "")
    monkeypatch.setattr(meteor, "find_meteor", lambda: None)
    with pytest.raises(ValueError, match=r"Java and the METEOR 1\.5 jar \(make meteor\)"):
        score("meteor_1_5", ["a"], [["a"]])
    monkeypatch.setattr(meteor, "find_wordnet", lambda: None)
    with pytest.raises(ValueError, match="WordNet"):
        score("meteor_2005", ["a"], [["a"]], synonyms="wordnet")


def test_the_form_of_2005_without_synonyms() -> None:
    # Three of four words, one by its stem: P 3/4, R 3/5; two chunks of three matches.
    mean = (3 / 4) * (3 / 5) / (0.9 * 3 / 4 + 0.1 * 3 / 5)
    found = score("meteor_2005", ["boats leave North daily"], [["x", "the boat leaves from north"]])
    assert found.item() == pytest.approx(mean * (1 - 0.5 * (2 / 3) ** 3))
    # Nothing but three chunks is needed; nltk pairs “the” with the wrong “the” and counts six.
    assert score("meteor_2005", ["on the mat sat the cat"], [["the cat sat on the mat"]]).item() == 0.5


@needs_wordnet
def test_synonyms_are_wordnets() -> None:
    # dog and hound, ran and run: two of three words in one chunk; then one of two words against the only one.
    found = score("meteor_2005", ["the dog ran", "a hound"], [["a hound running"], ["dogs"]], synonyms="wordnet")
    np.testing.assert_allclose(found, [2 / 3 * (1 - 0.5 / 8), 0.5 / (0.9 * 0.5 + 0.1) * 0.5])
    assert score("meteor_2005", ["the dog ran"], [["a hound running"]]).item() == 0


def test_what_is_said_beside_a_title_does_not_repeat_it() -> None:
    assert make("meteor_1_5").variant == "English, best reference"
    assert make("meteor_2005").variant == "by form and stem, best reference"
