import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotate.batches.control_plan import ControlPlan
from annotate.controls.making import make_pool
from annotate.controls.pool import accept, retire, reword, set_plan
from annotate.models import Batch, Hit, Item
from projects.errors import Refused
from projects.models import LogEntry, Membership, Project
from tests.annotate.controls.controlled_batches import make_controlled, make_places, work
from tests.factories import make_batch, make_rubric
from tests.people import SignIn

pytestmark = pytest.mark.django_db
NUMBERS = {"known_per_hit": "2", "degraded_per_hit": "0.5", "distance": "2", "jitter": "1", "control_seed": "7"}


def make_url(batch: Batch, name: str = "batch-controls") -> str:
    return reverse(f"annotate:{name}", args=[batch.project.slug, batch.number])


def test_a_manager_plans_makes_and_accepts(client_of: SignIn, manager: Membership, project: Project) -> None:
    make_places(project)
    batch = make_batch(project, is_open=False)
    client = client_of(manager)
    assert "shows no controls" in client.get(make_url(batch)).content.decode()
    done = client.post(make_url(batch, "control-plan"), NUMBERS, follow=True)
    assert "regrouped" in done.content.decode()
    batch.refresh_from_db()
    assert batch.control_plan["known_per_hit"] == 2
    assert batch.control_plan["seed"] == 7
    made = client.post(make_url(batch, "control-act"), {"act": "make"}, follow=True).content.decode()
    n = Item.objects.filter(pool_of=batch).count()
    assert f"{n} controls generated" in made
    page = client.get(make_url(batch)).content.decode()
    assert "Accept the" in page
    shown = Item.objects.filter(pool_of=batch).order_by("question__passage_id", "question_id", "control", "id")[:2]
    client.post(make_url(batch, "control-act"), {"act": "accept", "item": [item.pk for item in shown]})
    assert 2 <= Item.objects.filter(pool_of=batch, accepted_by=manager).count() <= 4
    client.post(make_url(batch, "control-act"), {"act": "accept-all"})
    assert not Item.objects.filter(pool_of=batch, accepted_at=None).exists()
    client.post(make_url(batch, "control-act"), {"act": "retire", "item": [shown[0].pk], "why": "odd"})
    assert Item.objects.get(pk=shown[0].pk).retired_at is not None
    acts = list(LogEntry.objects.filter(project=project).order_by("pk").values_list("act", flat=True))
    assert acts[-5:] == ["plan controls", "make controls", "accept controls", "accept controls", "retire controls"]
    for state in ("all", "waiting", "in-use", "retired", "nonsense"):
        assert client.get(make_url(batch), {"state": state, "yield": "1"}).status_code == 200


def test_nothing_is_to_be_accepted_twice(client_of: SignIn, manager: Membership, project: Project) -> None:
    make_places(project)
    batch = make_controlled(project, ControlPlan(known_per_hit=1), is_accepted=False)
    page = f"{make_url(batch)}?state=all"
    assert "Accept the" in client_of(manager).get(page).content.decode()
    accept(batch=batch, actor=manager)
    shown = client_of(manager).get(page).content.decode()
    assert "Accept" not in shown
    assert "Retire selected" in shown


def test_a_plan_that_cannot_be_is_shown_again(client_of: SignIn, manager: Membership, project: Project) -> None:
    make_places(project)
    batch = make_batch(project, is_open=False)
    for wrong, words in (
        ({"known_per_hit": "10"}, "leave no room"),
        ({"repeats": "3"}, "how often"),
        ({"repeats_per_hit": "2"}, "Give repeats their own HIT"),
        ({"known_per_hit": "many"}, "whole number"),
    ):
        answer = client_of(manager).post(make_url(batch, "control-plan"), wrong)
        assert answer.status_code == 422
        assert words in answer.content.decode()
    batch.refresh_from_db()
    assert batch.control_plan == {}


@pytest.mark.parametrize("over", [{"known_hit_every": 4}, {"repeats": 2, "repeats_every": 3}])
def test_nothing_comes_at_a_fixed_interval(
    client_of: SignIn, manager: Membership, project: Project, over: dict[str, int]
) -> None:
    make_places(project)
    batch = make_batch(project, is_open=False)
    with pytest.raises(Refused, match="fixed interval"):
        set_plan(batch=batch, actor=manager, plan=ControlPlan(**over, jitter=0))
    sent = {**NUMBERS, **over, "jitter": "0"}
    url = make_url(batch, "control-plan")
    assert client_of(manager).post(url, sent).status_code == 422
    assert set_plan(batch=batch, actor=manager, plan=ControlPlan(**over)) is False
    assert set_plan(batch=batch, actor=manager, plan=ControlPlan(known_hit_every=1, jitter=0)) is False


def test_a_draft_is_cut_again_and_an_opened_batch_is_not(project: Project) -> None:
    make_places(project, n_passages=2, n_questions=2, n_candidates=4)
    batch = make_batch(project, is_open=False, hit_size=8)
    assert Hit.objects.filter(batch=batch).count() == 2
    assert set_plan(batch=batch, actor=None, plan=ControlPlan(known_per_hit=4))
    sizes = [hit.items.count() for hit in Hit.objects.filter(batch=batch)]
    assert sizes == [4, 4, 4, 4]
    batch.refresh_from_db()
    assert (batch.n_hits, batch.n_items) == (4, 16)
    make_pool(batch=batch, actor=None)
    assert set_plan(batch=batch, actor=None, plan=ControlPlan())
    assert not Item.objects.filter(pool_of=batch).exists()
    assert Hit.objects.filter(batch=batch).count() == 2
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.OPEN)
    assert not set_plan(batch=batch, actor=None, plan=ControlPlan(known_per_hit=4))
    assert Hit.objects.filter(batch=batch).count() == 2


def test_the_batch_form_takes_presentation_and_controls(
    client_of: SignIn, manager: Membership, project: Project
) -> None:
    make_places(project)
    make_rubric(project, "qascore")
    client = client_of(manager)
    url = reverse("annotate:batch-new", args=[project.slug])
    form = client.get(url).context["form"]
    initial = {name: form[name].value() for name in form.fields if name in form.initial}
    assert (initial["presentation"], initial["hit_size"], initial["degraded_per_hit"]) == ("one", 20, 6)
    data = {name: value for name, value in initial.items() if value is not None}
    response = client.post(url, {**data, "seed": 0, "order": "breadth", "priority": 0})
    assert response.status_code == 302, response.context["form"].errors
    batch = Batch.objects.get(project=project)
    assert (batch.presentation, batch.hit_size) == (Batch.Presentation.ONE, 20)
    assert ControlPlan.read(batch.control_plan) == ControlPlan(degraded_per_hit=6, repeats_per_hit=3)


def test_a_degraded_answer_and_its_shown_reference_go_together(project: Project, manager: Membership) -> None:
    dataset = make_places(project, n_candidates=1)
    dataset.candidates.update(text="nothing of the kind")
    batch = make_controlled(project, ControlPlan(degraded_per_hit=1), is_accepted=False)
    degraded = Item.objects.filter(pool_of=batch, control="degraded").select_related("made_from").first()
    assert degraded is not None
    assert degraded.made_from is not None
    assert degraded.made_from.control == "source"
    assert accept(batch=batch, actor=manager, item_ids=[degraded.pk]) == 2
    assert retire(batch=batch, actor=manager, item_ids=[degraded.made_from.pk]) == 2


def test_a_waiting_reference_can_be_edited_and_an_accepted_one_not(project: Project, manager: Membership) -> None:
    make_places(project)
    batch = make_controlled(project, ControlPlan(known_per_hit=2), is_accepted=False)
    recipes = (Item.Recipe.REFERENCE, Item.Recipe.EDITED_REFERENCE)
    item = Item.objects.filter(pool_of=batch, control="known_answer", recipe__in=recipes).order_by("pk").first()
    assert item is not None
    assert reword(batch=batch, actor=manager, item_id=item.pk, text=" Another way ").shown_text == "Another way"
    accept(batch=batch, actor=manager)
    with pytest.raises(Refused):
        reword(batch=batch, actor=manager, item_id=item.pk, text="x")


def test_a_draft_with_a_pool_can_be_deleted(client_of: SignIn, manager: Membership, project: Project) -> None:
    make_places(project)
    batch = make_batch(project, is_open=False, controls=ControlPlan(known_per_hit=1, degraded_per_hit=1))
    assert make_pool(batch=batch, actor=None).n
    client_of(manager).post(reverse("annotate:batch-state", args=[project.slug, batch.number]), {"act": "delete"})
    assert not Batch.objects.filter(pk=batch.pk).exists()
    assert not Item.objects.exists()


def test_pages_of_a_batch_in_work_hold_with_controls(
    client_of: SignIn, manager: Membership, annotator: Membership, project: Project
) -> None:
    make_places(project, n_passages=8, n_questions=1, n_candidates=5)
    batch = make_controlled(project, ControlPlan(repeats=2, repeats_every=2, distance=1, jitter=0))
    work(annotator, most=3)
    for name in ("batch-show", "batch-controls"):
        assert client_of(manager).get(make_url(batch, name)).status_code == 200
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.CLOSED)
    with pytest.raises(Refused):
        make_pool(batch=batch, actor=None)


def run(project: Project, batch: Batch, *arguments: str) -> dict[str, object]:
    out = StringIO()
    call_command("controls", *arguments, project=project.slug, batch=batch.number, json=True, stdout=out)
    answer: dict[str, object] = json.loads(out.getvalue())
    return answer


def test_the_command_plans_makes_accepts_and_shows(project: Project) -> None:
    make_places(project)
    batch = make_batch(project, is_open=False)
    assert run(project, batch, "plan", "--known-per-hit", "1", "--degraded-per-hit", "0.5")["is_cut_anew"] is True
    made = run(project, batch, "make")["made"]
    assert run(project, batch, "accept")["accepted"] == made
    shown = run(project, batch)
    assert shown["pool"]["known_answer"]["in_use"] > 0  # type: ignore[index]
    assert [row["words"] for row in shown["degradable"]] == [1, 3, 8]  # type: ignore[attr-defined]
