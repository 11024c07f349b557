"""Every form with a preview makes only what it showed: a table of them, and what finds one that is missing in it."""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings

from annotate.batches import lifecycle
from annotate.batches.creating import create_batch
from annotate.batches.terms import Terms
from annotate.models import LedgerEntry
from annotate.moderation import members
from annotate.moderation.members import Exclusion, ExclusionScope
from annotate.planning.overlap import Rule
from annotate.planning.plans import create_plan
from projects.models import LogEntry, Membership, Project
from projects.web.previews import NOT_SHOWN, OTHER_NUMBERS, OTHER_SETTINGS
from tests.annotate.open_batches import open_batch
from tests.annotate.submitted_work import claim, rate, send
from tests.factories import make_corpus, make_dataset, make_passage
from tests.people import SignIn
from tests.previews import find_seal
from tests.results.judged_batches import canonical

HERE = "/p/bridges/"


@dataclass(frozen=True)
class Scene:
    project: Project
    manager: Membership
    annotator: Membership
    other_annotator: Membership


@dataclass(frozen=True)
class Case:
    """A form with a preview: its template, how its scene is set, its fields, and what changes its numbers."""

    template: str
    arrange: Callable[[Scene], Any]
    page: str
    fields: dict[str, Any] = field(default_factory=dict)
    edited: dict[str, Any] = field(default_factory=dict)
    disturb: Callable[[Scene], Any] | None = None
    at: str = ""
    more: dict[str, Any] = field(default_factory=dict)

    def address(self, scene: Scene, template: str) -> str:
        return HERE + template.format(annotator=scene.annotator.pseudonym)


def arrange_corpus(scene: Scene) -> None:
    make_corpus(scene.project, n_passages=4, n_candidates=3)


def add_corpus(scene: Scene) -> None:
    make_corpus(scene.project, n_passages=1, n_candidates=3)


def arrange_batch(scene: Scene) -> None:
    arrange_corpus(scene)
    batch = create_batch(project=scene.project, actor=None, terms=Terms(judgments=2))
    lifecycle.open_batch(batch=batch, actor=scene.manager)


def take_one_twice(scene: Scene) -> None:
    """Both places of one HIT are taken, so that one fewer can be removed."""
    claim(scene.annotator)
    for _ in range(4):
        send(claim(scene.other_annotator))


def arrange_plan(scene: Scene) -> None:
    arrange_corpus(scene)
    create_plan(project=scene.project, actor=None, name="All", rules=(Rule("*", "*", 1),))


def arrange_work(scene: Scene) -> None:
    open_batch(scene.project, n_hits=6, cents_per_hit=40)
    rate(scene.annotator, 2)


def arrange_removed(scene: Scene) -> None:
    arrange_work(scene)
    everything = Exclusion(scope=ExclusionScope.ALL)
    members.remove(target=scene.annotator, actor=scene.manager, why="Poor.", exclusion=everything)


def arrange_waiting_pay(scene: Scene) -> None:
    earn(scene)


def earn(scene: Scene) -> None:
    LedgerEntry.objects.create(
        project=scene.project, annotator=scene.annotator, kind="qualification", cents=25, key=str(uuid4())
    )


BATCH = {"kind": "full", "seed": "0", "judgments": "2", "hit_size": "10", "time_limit_minutes": "60"}
BATCH |= {"cents_per_hit": "40", "cents_per_item": "0", "fee_percent": "20", "order": "breadth", "priority": "0"}

CASES = {
    "batch": Case(
        "annotate/batches/new.html",
        arrange_corpus,
        "batches/new/",
        BATCH,
        {"cents_per_hit": "80"},
        add_corpus,
        more={"name": "Pilot"},
    ),
    "wanted": Case(
        "annotate/batches/wanted.html",
        arrange_batch,
        "batches/1/judgments/",
        {"judgments": "1"},
        {"judgments": "3"},
        take_one_twice,
    ),
    "plan": Case(
        "annotate/planning/_missing.html",
        arrange_plan,
        "plans/1/",
        {"hit_size": "5"},
        {"hit_size": "3"},
        add_corpus,
        at="plans/1/start/",
    ),
    "set": Case(
        "results/sets/new.html",
        lambda scene: canonical(scene.project),
        "sets/new/",
        {"texts": "on", "gold": "mean"},
        {"texts": "on", "gold": "median"},
        more={"name": "Spring"},
    ),
    "split": Case(
        "annotate/data/split.html",
        arrange_corpus,
        "data/split/",
        {"shares": "train=50,test=50", "seed": "1"},
        {"shares": "train=90,test=10"},
        lambda scene: make_passage(make_dataset(scene.project)),
    ),
    "removal": Case(
        "annotate/moderation/member_remove.html",
        arrange_work,
        "people/{annotator}/remove/",
        {"scope": "all", "reopens": "on"},
        {"scope": "none"},
        lambda scene: rate(scene.annotator),
        more={"why": "Straight lines."},
    ),
    "restoring": Case(
        "annotate/moderation/member_restore.html",
        arrange_removed,
        "people/{annotator}/restore/",
        disturb=lambda scene: rate(scene.other_annotator, 6),
        more={"why": "Our mistake.", "with_work": "on"},
    ),
    "approval": Case(
        "annotate/moderation/submitted_decide.html",
        arrange_work,
        "submitted/decide/",
        {"act": "approve", "all": "1"},
        {"act": "approve", "all": "1", "batch": "1"},
        lambda scene: rate(scene.annotator),
    ),
    "pay": Case("annotate/payments/list.html", arrange_waiting_pay, "payments/", disturb=earn, at="payments/approve/"),
}

ELSEWHERE = {
    "annotate/imports/show.html": "tests/annotate/imports/test_pages.py: only the file of the report is imported",
    "results/score_import/show.html": "tests/results/metrics/test_pages.py: the same, of a file of scores",
    "annotate/controls/list.html": "tests/annotate/controls/test_pages.py: as many controls are accepted as were shown",
    "annotate/controls/_pool.html": "tests/annotate/controls/test_pages.py: the visible plan must be the stored one",
    "annotate/prolific/study.html": "tests/annotate/prolific/test_studies.py: published at the cost that was shown",
    "annotate/prolific/study_places.html": "tests/annotate/prolific/test_studies.py: the same, of places at most",
    "annotate/payments/ledger_show.html": "tests/annotate/payments/test_pages.py: a debt is allowed for one amount",
}
"""Templates whose rule is tested elsewhere."""

WITHOUT = {
    "annotate/data/withdrawal_views.py": "a broken text is withdrawn whatever people submit meanwhile",
    "annotate/data/pair_views.py": "the same, of a pair",
    "annotate/desk/account_views.py": "people leave whenever they like; the numbers are for their information",
    "annotate/desk/onboarding_views.py": "annotators leave whenever they like; the number is for their information",
}
"""Views that show numbers before an act and do not compare them."""


@pytest.fixture
def scene(project: Project, manager: Membership, annotator: Membership, other_annotator: Membership) -> Scene:
    return Scene(project, manager, annotator, other_annotator)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_form_makes_only_what_its_preview_showed(case: Case, scene: Scene, client_of: SignIn) -> None:
    case.arrange(scene)
    client = client_of(scene.manager)
    page, at = case.address(scene, case.page), case.address(scene, case.at or case.page)
    seal = find_seal(client.get(page, case.fields).content.decode())
    assert seal
    n_acts = LogEntry.objects.count()

    def post(**over: Any) -> str:
        answer = client.post(at, {**case.fields, **case.more, **over}, follow=True)
        return str(answer.content.decode())

    assert NOT_SHOWN in post()
    assert NOT_SHOWN in post(shown="x")
    if case.edited:
        assert OTHER_SETTINGS in post(**case.edited, shown=seal)
    # A seal of another form, or of another project's, holds for none.
    assert OTHER_SETTINGS in post(shown="0" * 64)
    assert LogEntry.objects.count() == n_acts
    if case.disturb:
        case.disturb(scene)
        n_acts = LogEntry.objects.count()
        refused = post(shown=seal)
        assert OTHER_NUMBERS in refused
        assert LogEntry.objects.count() == n_acts
        # The page that refuses shows the new numbers, and confirms these.
        seal = find_seal(refused) or find_seal(client.get(page, case.fields).content.decode())
    done = post(shown=seal)
    assert not any(words in done for words in (NOT_SHOWN, OTHER_SETTINGS, OTHER_NUMBERS))
    assert LogEntry.objects.count() > n_acts


TEMPLATES = Path(settings.BASE_DIR, "templates")
SEALED = re.compile(r"\{% (?:confirm_preview|preview_seal) |data-preview-of=")
REPEATED = re.compile(r"as_hidden|type=\"hidden\" name=\"\{\{")
"""Hidden fields that repeat what another form of the page was sent with."""
REPEATS = {
    "projects/_preview_confirm.html": "the mechanism itself",
    "_kept_fields.html": "a form of an ended session, sent again as it was",
    "annotate/imports/_choose.html": "fields of the same form, which a file of this kind does not show",
    "annotate/moderation/_absent.html": "previews again, with another choice",
    "annotate/moderation/submitted_decide.html": "sealed",
    "results/scores/_candidates.html": "a search",
}


def test_every_template_with_a_preview_is_in_the_table() -> None:
    sources = {
        path.relative_to(TEMPLATES).as_posix(): path.read_text(encoding="utf-8") for path in TEMPLATES.rglob("*.html")
    }
    sealed = {name for name, source in sources.items() if SEALED.search(source)} - {"projects/_preview_confirm.html"}
    assert sealed == {case.template for case in CASES.values()} | set(ELSEWHERE)
    # A form that repeats the fields of another in hidden ones confirms what was sent, and not what people see.
    assert {name for name, source in sources.items() if REPEATED.search(source)} <= set(REPEATS)
    # A page that previews by GET and acts by POST lets the same form do both.
    for name, source in sources.items():
        previews = [form for form in re.findall(r"<form[^>]*method=\"get\"[^>]*>", source) if "filters" not in form]
        if any("action" not in form for form in previews) and re.search(r"<form[^>]*method=\"post\"", source):
            assert name in sealed, f"{name} has a form that previews and another that acts"


PLANNED = re.compile(r"^(plan|price)_(?!list|new|edit|show|start|cost)|^preview$")


def test_every_view_that_shows_an_effect_before_the_act_compares_it() -> None:
    found = {}
    for app in ("annotate", "projects", "results"):
        for path in Path(settings.BASE_DIR, app).rglob("*views.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            called = {
                getattr(node.func, "attr", getattr(node.func, "id", ""))
                for node in ast.walk(tree)
                if isinstance(node, ast.Call)
            }
            if any(PLANNED.match(name) for name in called):
                found[path.relative_to(settings.BASE_DIR).as_posix()] = "Preview" in called
    assert len(found) > 6
    assert {name for name, compares in found.items() if not compares} == set(WITHOUT)
