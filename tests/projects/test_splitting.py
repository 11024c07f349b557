"""Whole passages into splits, nearest to the shares, the same every time."""

import json
from functools import partial
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from projects.errors import Refused
from projects.models import Dataset, LogEntry, Membership, Passage, Project
from projects.splitting import divide, parse_shares, plan_split, write_split
from tests.concurrency import start_beside
from tests.factories import make_candidates, make_dataset, make_passage, make_question

SHARES = {"train": 75.0, "dev": 10.0, "test": 15.0}


@pytest.fixture
def dataset(project: Project) -> Dataset:
    dataset = make_dataset(project, "stories")
    for number in range(40):
        make_candidates(make_question(make_passage(dataset, f"p{number:02}")), 1 + number % 7)
    return dataset


def test_whole_passages_come_nearest_to_the_shares(project: Project, dataset: Dataset, owner: Membership) -> None:
    plan = plan_split(project=project, shares=SHARES, seed=1)
    split = plan.datasets[0]
    total = sum(split.n_candidates.values())
    assert (len(plan.assigned), total) == (40, 155)
    assert split.shares["train"] == split.n_candidates["train"] / 155
    for name, share in SHARES.items():
        assert abs(split.n_candidates[name] - share / 100 * total) < 1, "sizes 1 to 7 can meet any share within one"
    assert not Passage.objects.exclude(split="").exists(), "planning writes nothing"
    assert write_split(project=project, plan=plan, actor=owner) == 40
    assert Passage.objects.filter(split="dev").count() == split.n_passages["dev"]
    after = LogEntry.objects.get(act="split passages").after
    assert after is not None
    assert after["seed"] == 1


def test_the_seed_decides_and_nothing_else(project: Project, dataset: Dataset) -> None:
    first, again, other = (plan_split(project=project, shares=SHARES, seed=seed).assigned for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_split_that_came_with_the_file_stays_and_counts(project: Project, dataset: Dataset) -> None:
    Passage.objects.filter(external_id__lt="p10").update(split="test")
    Passage.objects.filter(external_id="p11").update(split="held")
    plan = plan_split(project=project, shares=SHARES, seed=3)
    split = plan.datasets[0]
    assert split.n_kept == 11
    assert not set(plan.assigned) & set(Passage.objects.exclude(split="").values_list("pk", flat=True))
    assert "test" not in plan.assigned.values(), "ten passages are more than fifteen per cent already"
    assert split.n_candidates["held"] == 5


def test_each_dataset_is_split_by_itself(project: Project, dataset: Dataset) -> None:
    small = make_dataset(project, "small")
    for number in range(20):
        make_candidates(make_question(make_passage(small, f"s{number}")), 1)
    plan = plan_split(project=project, shares=SHARES, seed=1)
    assert {each.dataset: each.n_candidates for each in plan.datasets}["small"] == {"train": 15, "dev": 2, "test": 3}


def test_a_passage_split_meanwhile_is_refused_with_the_list(project: Project, dataset: Dataset) -> None:
    plan = plan_split(project=project, shares=SHARES, seed=1)
    Passage.objects.filter(external_id="p03").update(split="dev")
    with pytest.raises(Refused) as caught:
        write_split(project=project, plan=plan, actor=None)
    assert caught.value.details == ["p03: dev"]
    assert Passage.objects.exclude(split="").count() == 1


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_of_two_splits_applied_at_once_the_second_is_refused(project: Project, dataset: Dataset) -> None:
    """It has looked for passages with a split before the first one is committed, and would overwrite them."""
    plan, other = (plan_split(project=project, shares=SHARES, seed=seed) for seed in (1, 2))
    with transaction.atomic():
        write_split(project=project, plan=plan, actor=None)
        finish = start_beside(partial(write_split, project=project, plan=other, actor=None))
    assert isinstance(finish(), Refused)
    assert dict(Passage.objects.values_list("pk", "split")) == plan.assigned


def test_passages_without_candidates_are_shared_out_by_number() -> None:
    placed = divide(dict.fromkeys(range(100), 0), SHARES, {}, "seed")
    found = [sum(1 for split in placed.values() if split == name) for name in SHARES]
    assert found == [75, 10, 15]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.integers(0, 5))
def test_every_passage_is_placed_once_and_no_single_move_would_help(sizes: list[int], seed: int) -> None:
    passages = dict(enumerate(sizes))
    placed = divide(passages, SHARES, {}, str(seed))
    assert placed.keys() == passages.keys()
    total = sum(sizes)
    missing = {name: share / 100 * total for name, share in SHARES.items()}
    for passage, split in placed.items():
        missing[split] -= passages[passage]
    for passage, split in placed.items():
        for other in SHARES:
            moved = missing | {split: missing[split] + passages[passage], other: missing[other] - passages[passage]}
            if other != split:
                assert sum(each**2 for each in moved.values()) >= sum(each**2 for each in missing.values()) - 1e-6


@pytest.mark.parametrize(
    "text", ["train", "train=75", "a=1,a=2", "a=0,b=1", "a=-1,b=1", "a=nan,b=1", "a=inf,b=1", "=1,b=1", "a=x,b=1"]
)
def test_shares_that_make_no_split_are_refused(project: Project, text: str) -> None:
    with pytest.raises(Refused):
        plan_split(project=project, shares=parse_shares(text), seed=0)


def test_the_command_says_it_before_it_writes(project: Project, dataset: Dataset, capsys: Any) -> None:
    flags = ["--project", project.slug, "--shares", "train=1,test=1", "--seed", "7", "--json"]
    call_command("split_passages", *flags, "--dry-run")
    output = json.loads(capsys.readouterr().out)
    assert not Passage.objects.exclude(split="").exists()
    call_command("split_passages", *flags)
    assert json.loads(capsys.readouterr().out)["datasets"] == output["datasets"]
    assert Passage.objects.filter(split="train").count() == output["datasets"][0]["passages"]["train"]
    with pytest.raises(CommandError, match="no dataset “other”"):
        call_command("split_passages", *flags, "--dataset", "other")
