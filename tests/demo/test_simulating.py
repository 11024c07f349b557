"""The simulation: seeded, thrown away, and saying what it is asked for."""

import json
from io import StringIO
from itertools import product
from typing import Any

import numpy as np
import pytest
from django.apps import apps
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

from demo.annotators import Seen
from demo.management.commands.simulate import Command
from demo.simulating.arrangements import Arrangement
from demo.simulating.reporting import SHIPPED
from demo.simulating.texts import Mix, rows, write_texts
from demo.simulating.working import list_moments
from demo.simulating.worlds import BAD_WAYS, TUNED, UNSEEN, recruit
from projects.models import Project

# One process makes the run that several tests read.
pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("simulating")]
SMALL = ("--seed", "3", "--annotators", "5", "--hits", "3")


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("simulate", *arguments, stdout=out)
    return out.getvalue()


def run_json(*arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run("--json", *arguments))
    return answer


@pytest.fixture(scope="module")
def answer(django_db_setup: None, django_db_blocker: Any) -> dict[str, Any]:
    """A small run with controls and without, made once; it leaves nothing behind that would have to be undone."""
    with django_db_blocker.unblock():
        return run_json(*SMALL, "--overlap", "3", "--controls", "0,2")


def test_it_says_who_was_flagged_and_what_alpha_was(answer: dict[str, Any]) -> None:
    assert (answer["annotators"], answer["bad"]) == (5, 1)
    assert answer["at"] == {"overlap": 3, "controls": 0}
    assert set(answer["hits"]) == {"3"}
    leading = answer["hits"]["3"]
    assert leading["caught_share"] == leading["caught"] / leading["bad"]
    assert leading["wrongly_flagged_share"] == leading["wrongly_flagged"] / leading["good"] < 1
    assert -1 < answer["alpha_before"] <= answer["alpha_after"] <= 1
    assert [(row["overlap"], row["controls"], row["hits"]) for row in answer["table"]] == [(3, 0, 3), (3, 2, 3)]
    for row in answer["table"]:
        assert sum(each["of"] for each in row["annotators"].values()) == 5
        assert all(each["caught"] <= row["caught"] for each in row["findings"].values())


def test_the_same_seed_says_the_same(answer: dict[str, Any]) -> None:
    assert run_json(*SMALL, "--overlap", "3", "--controls", "0,2") == answer


def test_another_seed_has_other_people_and_texts(answer: dict[str, Any]) -> None:
    other = run_json("--seed", "4", *SMALL[2:], "--overlap", "3", "--controls", "0")
    assert other["alpha_before"] != answer["alpha_before"]


def test_nothing_is_left_in_any_table_and_no_table_is_left(answer: dict[str, Any], project: Project) -> None:
    def counts() -> dict[str, int]:
        return {model._meta.label: model._default_manager.count() for model in apps.get_models()}

    def tables() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_class WHERE relname = 'annotate_hit'")
            return int(cursor.fetchone()[0])

    before = counts(), tables()
    run(*SMALL, "--overlap", "1", "--controls", "0")
    assert (counts(), tables()) == before
    assert Project.objects.get() == project


@pytest.mark.parametrize(
    ("world", "name"), [("unseen", UNSEEN[3].name), ("tuned", TUNED[0].name), ("rougher", "rougher")]
)
def test_a_seed_takes_its_turn_among_the_worlds(world: str, name: str) -> None:
    arguments = ("--seed", "3", "--annotators", "5", "--hits", "1", "--overlap", "1", "--controls", "0")
    assert run_json(*arguments, "--world", world)["world"] == name


def test_at_overlap_one_there_is_no_alpha_and_the_reason_is_given() -> None:
    answer = run_json(*SMALL, "--overlap", "1", "--controls", "0")
    assert answer["alpha_before"] is None
    assert answer["alpha_before_reason"]
    assert "alpha undefined (" in run(*SMALL, "--overlap", "1", "--controls", "0")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--seed", "1", "--annotators", "4"], "number of annotators must be"),
        (["--seed", "1", "--hits", "0"], "HITs"),
        (["--seed", "1", "--overlap", "0"], "overlap"),
        (["--seed", "1", "--overlap", "3,21"], "overlap"),
        (["--seed", "1", "--controls", "3"], "Controls"),
        (["--seed", "-1"], "seed"),
        (["--seed", "1", "--overlap", "many"], "whole numbers"),
        (["--seed", "1", "--overlap", ""], "whole numbers"),
        (["--seed", "one"], "seed"),
        (["--seed", str(2**31)], "seed"),
        (["--seed", "1", "--world", "mars"], "world"),
        ([], "--seed"),
    ],
)
def test_nonsense_is_refused(arguments: list[str], says: str) -> None:
    with pytest.raises(CommandError, match=says):
        run(*arguments)


def test_by_default_the_whole_table_is_made() -> None:
    chosen = Command().create_parser("manage.py", "simulate").parse_args(["--seed", "7"])
    assert list_moments(chosen.hits) == (3, 5, 10)
    assert SHIPPED in {Arrangement(*each) for each in product(chosen.overlap, chosen.controls)}
    assert (set(chosen.overlap), set(chosen.controls)) == ({1, 3}, {0, 1, 2})


def test_a_fifth_of_a_crew_is_bad_in_all_ways() -> None:
    workers = recruit(TUNED[0], 40, np.random.default_rng(1))
    bad = [worker.temperament.name for worker in workers if worker.is_bad]
    assert sorted(bad) == sorted(BAD_WAYS * 2)


@pytest.mark.parametrize("world", [*TUNED, *UNSEEN], ids=lambda world: world.name)
def test_good_annotators_follow_what_answers_are_worth_and_bad_ones_do_not(world: Any) -> None:
    rng = np.random.default_rng(5)
    passages = write_texts(20, 10, mix=world.mix, rng=rng)
    seen = [
        Seen(answer.text, question.references, answer.worth, 40)
        for passage in passages
        for question in passage.questions
        for answer in question.answers
    ]
    for worker in recruit(world, 20, rng):
        scores = [worker.temperament.judgement.rate(each, rng) for each in seen]
        r = np.corrcoef(scores, [each.worth for each in seen])[0, 1] if np.ptp(scores) else 0.0
        assert (r < 0.45) if worker.is_bad else (r > 0.6), worker.temperament.name


def test_no_row_tells_what_an_answer_is_worth() -> None:
    passages = write_texts(5, 9, mix=Mix(), rng=np.random.default_rng(1))
    found = list(rows(passages))
    assert len(found) == len({row["candidate_id"] for row in found}) == 45
    assert not {"worth", "true_score"} & {key for row in found for key in row}
    for row in found:
        assert row["candidate"] not in (row["reference_1"], row["reference_2"])
