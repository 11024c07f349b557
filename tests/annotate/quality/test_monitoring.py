import gzip
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from annotate.models import AnnotatorFigures, Assignment, Batch, Finding, Item, Judgment, QualityRules
from annotate.moderation import decisions
from annotate.moderation.work_filter import WorkFilter
from annotate.quality import monitoring
from annotate.quality.evidence import fetch_scores, find_quality_scale
from annotate.quality.figure_formats import format_figures
from annotate.quality.monitoring import CLOSED_NOTE
from annotate.reviews import spot_checks
from annotate.tasks import check
from annotate.work import serving, submitting
from measures.outcome import Undefined
from measures.quality.figures import Figures, pack, unpack
from projects.importing import Kind
from projects.log import freshness, record
from projects.models import Act, Candidate, LogEntry, Membership, Project
from tests.annotate.open_batches import open_batch
from tests.annotate.quality.scripted_annotators import CONTRARY, GOOD, SAME, crew, noisy, work
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_project, make_question
from tests.results.judged_batches import judge_on_slider, take_file

# The crew's work is made once, in one process.
pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("monitoring")]

State = Finding.State


def load_figures(annotator: Membership) -> Figures:
    return unpack(AnnotatorFigures.objects.get(pk=annotator.pk).figures)


def list_kinds(annotator: Membership) -> set[str]:
    return set(Finding.objects.filter(annotator=annotator, state=State.OPEN).values_list("kind", flat=True))


@pytest.fixture(scope="module")
def worked(module_transaction: None) -> list[Membership]:
    """Four good annotators, one who rates the wrong way round and one who always says 3."""
    return crew(make_project("bridges", name="Bridges"), GOOD, noisy(1), noisy(2), noisy(3), CONTRARY, SAME)[1]


@pytest.fixture
def project(worked: list[Membership], db: None) -> Project:
    return Project.objects.get(slug="bridges")


@pytest.fixture
def empty_project(db: None) -> Project:
    """A project without the crew."""
    return make_project()


def test_scores_are_the_ratings_to_the_last_digit(empty_project: Project) -> None:
    ratings = [7.0, 14.0, 28.0, 29.0, 55.0, 57.0]
    candidates = make_candidates(make_question(make_passage(make_dataset(empty_project))), len(ratings))
    person = make_membership(empty_project)
    judge_on_slider(empty_project, {each: {person: value} for each, value in zip(candidates, ratings, strict=True)})
    scale = find_quality_scale(empty_project)
    assert scale is not None
    assert sorted(fetch_scores(scale).score.tolist()) == ratings


def test_bad_work_is_found_and_good_work_is_not(project: Project, people: list[Membership]) -> None:
    done = monitoring.refresh_figures(project=project)
    assert done.n_annotators == 6
    *good, contrary, same = people
    assert [list_kinds(each) for each in good] == [set()] * 4
    assert "disagrees_with_others" in list_kinds(contrary)
    assert "straight_line" in list_kinds(same)
    entry = LogEntry.objects.filter(project=project, act="find", object_id=str(same.pk)).first()
    assert entry is not None
    assert entry.actor is None


def test_figures_are_those_of_the_work(project: Project, people: list[Membership]) -> None:
    monitoring.refresh_figures(project=project)
    figures = load_figures(people[0])
    assert figures.n_judged == 40
    assert not isinstance(figures.others, Undefined)
    assert figures.others.n == 40
    questions = Judgment.objects.filter(annotator=people[0]).values("candidate__question__passage").distinct()
    assert figures.others.n_groups == questions.count() > 2, "items of a passage are not independent"
    assert figures.others.bias_low < figures.others.bias < figures.others.bias_high
    (bias,) = [each for each in format_figures(pack(figures)) if each.kind.key == "bias"]
    assert bias.details.endswith(f", over {figures.others.n_groups} passages")
    assert not isinstance(figures.scale, Undefined)
    truth = [judgment.value for judgment in Judgment.objects.filter(annotator=people[0])]
    assert figures.scale.counts == tuple(truth.count(point) for point in (1, 2, 3, 4, 5))
    assert not isinstance(figures.pace, Undefined)
    assert (figures.pace.seconds_per_item, figures.pace.n) == (4.0, 40)
    assert not isinstance(figures.returned, Undefined)
    assert (figures.returned.n_yes, figures.returned.n) == (0, 5)
    assert figures.known_answers == Undefined(reason="no known-answer item rated yet")


def test_only_newer_work_is_computed_again(project: Project, people: list[Membership]) -> None:
    assert [found.pk for found in monitoring.find_stale_projects()] == [project.pk]
    monitoring.refresh_figures(project=project)
    AnnotatorFigures.objects.update(computed_at=timezone.now() + timedelta(hours=1))
    assert monitoring.find_stale_projects() == []
    assert monitoring.refresh_figures(project=project) == monitoring.Refreshed()
    open_batch(project, n_hits=1)
    work(people[0], GOOD)
    assert [found.pk for found in monitoring.find_stale_projects()] == [project.pk]
    assert monitoring.refresh_figures(project=project).n_annotators == 1


def test_a_project_whose_figures_fail_does_not_stop_the_next(
    project: Project, people: list[Membership], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    other = make_project()
    open_batch(other, n_hits=1)
    work(make_membership(other), GOOD)
    refresh = monitoring.refresh_figures

    def refresh_others(*, project: Project) -> monitoring.Refreshed:
        if project != other:
            raise ZeroDivisionError
        return refresh(project=project)

    monkeypatch.setattr(monitoring, "refresh_figures", refresh_others)
    check()
    assert set(AnnotatorFigures.objects.values_list("annotator__project", flat=True)) == {other.pk}
    assert f"project {project.pk} failed" in caplog.text


@pytest.mark.parametrize("act", sorted(freshness.ANNOTATORS))
def test_decisions_on_work_bring_new_figures_for_everybody(
    project: Project, people: list[Membership], manager: Membership, act: Act
) -> None:
    monitoring.refresh_figures(project=project)
    AnnotatorFigures.objects.update(computed_at=timezone.now() + timedelta(hours=1))
    assert monitoring.find_stale_projects() == []
    AnnotatorFigures.objects.update(computed_at=timezone.now() - timedelta(hours=1))
    record(project, manager, act, project)
    assert [found.pk for found in monitoring.find_stale_projects()] == [project.pk]
    assert monitoring.refresh_figures(project=project).n_annotators == 6


def test_what_a_manager_rejects_leaves_the_figures(
    project: Project, people: list[Membership], manager: Membership
) -> None:
    monitoring.refresh_figures(project=project)
    first = Assignment.objects.filter(annotator=people[0]).order_by("pk").first()
    assert first is not None
    AnnotatorFigures.objects.update(computed_at=timezone.now() - timedelta(hours=1))
    decisions.reject(project=project, actor=manager, chosen=WorkFilter(uuids=(str(first.uuid),)), reason="careless")
    check()
    assert load_figures(people[0]).n_judged == 40 - len(first.layout)


def test_new_rules_are_held_against_work_that_is_in(
    project: Project, people: list[Membership], manager: Membership
) -> None:
    monitoring.refresh_figures(project=project)
    assert "straight_line" in list_kinds(people[-1])
    AnnotatorFigures.objects.update(computed_at=timezone.now() - timedelta(hours=1))
    spot_checks.set_rules(project=project, actor=manager, share=0, least=0, thresholds={"least_items": 1_000})
    check()
    assert "straight_line" not in list_kinds(people[-1])


def test_twice_changes_nothing(project: Project, people: list[Membership]) -> None:
    monitoring.refresh_figures(project=project)
    before = list(Finding.objects.order_by("pk").values_list("pk", "state", "evidence"))
    again = monitoring.refresh_figures(project=project, annotators=people)
    assert (again.n_opened, again.n_closed) == (0, 0)
    assert list(Finding.objects.order_by("pk").values_list("pk", "state", "evidence")) == before


def test_the_beat_takes_every_project_with_new_work(project: Project, people: list[Membership]) -> None:
    check()
    assert AnnotatorFigures.objects.count() == 6


def test_a_dismissed_finding_comes_back_only_with_new_evidence(
    project: Project, people: list[Membership], manager: Membership
) -> None:
    monitoring.refresh_figures(project=project)
    finding = Finding.objects.get(annotator=people[-1], kind="straight_line")
    Finding.objects.filter(pk=finding.pk).update(
        state=State.DISMISSED, settled_by=manager, settled_at=timezone.now(), note="Known."
    )
    monitoring.refresh_figures(project=project, annotators=people)
    assert "straight_line" not in list_kinds(people[-1])
    open_batch(project, n_hits=3, n_items=8)
    work(people[-1], SAME)
    monitoring.refresh_figures(project=project, annotators=people)
    assert "straight_line" in list_kinds(people[-1])


def test_a_finding_that_no_longer_holds_is_closed_by_the_system(project: Project, people: list[Membership]) -> None:
    monitoring.refresh_figures(project=project)
    QualityRules.objects.create(project=project, thresholds={"chance": 1e-300, "unknown": 1})
    monitoring.refresh_figures(project=project, annotators=people)
    assert not Finding.objects.filter(state=State.OPEN).exists()
    closed = Finding.objects.filter(annotator=people[-1]).first()
    assert closed is not None
    assert (closed.note, closed.settled_by) == (CLOSED_NOTE, None)
    QualityRules.objects.all().delete()
    monitoring.refresh_figures(project=project, annotators=people)
    assert "straight_line" in list_kinds(people[-1])


def test_overlap_one_says_what_it_cannot_give(empty_project: Project) -> None:
    open_batch(empty_project, n_hits=4, n_items=8, judgments=1)
    alone = make_membership(empty_project)
    work(alone, GOOD)
    monitoring.refresh_figures(project=empty_project)
    figures = load_figures(alone)
    assert figures.others == Undefined(reason="nobody else has rated the same candidates")
    assert isinstance(figures.alpha, Undefined)
    assert not isinstance(figures.scale, Undefined)


def test_what_does_not_count_does_not_enter(project: Project, people: list[Membership]) -> None:
    withdrawn = Candidate.objects.filter(dataset__project=project).earliest("pk")
    Candidate.objects.filter(pk=withdrawn.pk).update(withdrawn_at=timezone.now())
    judgment = Judgment.objects.filter(annotator=people[0]).exclude(candidate=withdrawn).earliest("pk")
    Judgment.objects.filter(pk=judgment.pk).update(is_counted=False, not_counted_reason="surplus")
    monitoring.refresh_figures(project=project)
    assert load_figures(people[0]).n_judged == 38
    assert load_figures(people[1]).n_judged == 39


def test_returned_hits_are_counted(empty_project: Project) -> None:
    open_batch(empty_project, n_hits=4)
    annotator = make_membership(empty_project)
    for _ in range(2):
        submitting.return_hit(annotator=annotator, assignment_uuid=serving.claim(annotator), reason="")  # type: ignore[arg-type]
    work(annotator, GOOD)
    monitoring.refresh_figures(project=empty_project)
    returned = load_figures(annotator).returned
    assert not isinstance(returned, Undefined)
    assert (returned.n_yes, returned.n) == (2, 4)


def test_controls_and_their_sources(empty_project: Project) -> None:
    batch, (annotator, *_) = crew(empty_project, GOOD, GOOD, n_hits=6, n_items=4)
    criterion = batch.rubric.criteria.get()
    for number, assignment in enumerate(Assignment.objects.filter(annotator=annotator).order_by("pk")):
        source = Judgment.objects.filter(assignment=assignment).order_by("-value", "pk")[0]
        for kind, value in (("degraded", 1.0), ("repeat", source.value), ("known_answer", 5.0 if number else 2.0)):
            item = Item.objects.create(
                pool_of=batch,
                question=source.item.question,
                position=number,
                control=kind,
                made_from=None if kind == "known_answer" else source.item,
                expected={"correctness": [4, 5]} if kind == "known_answer" else None,
                shown_text="shown",
            )
            Judgment.objects.create(
                assignment=assignment, item=item, annotator=annotator, criterion=criterion, value=value
            )
    monitoring.refresh_figures(project=empty_project)
    figures = load_figures(annotator)
    assert figures.n_judged == 24
    assert not isinstance(figures.known_answers, Undefined)
    assert (figures.known_answers.n_yes, figures.known_answers.n) == (5, 6)
    assert not isinstance(figures.repeats, Undefined)
    assert (figures.repeats.n, figures.repeats.exact_share) == (6, 1.0)
    assert not isinstance(figures.degraded, Undefined)
    assert (figures.degraded.n, figures.degraded.n_lower, figures.degraded.verdict.value) == (6, 6, "passed")


def test_removed_annotators_keep_their_figures(project: Project, people: list[Membership]) -> None:
    monitoring.refresh_figures(project=project)
    before = load_figures(people[-1])
    Membership.objects.filter(pk=people[-1].pk).update(standing="removed")
    Judgment.objects.filter(annotator=people[-1]).update(is_counted=False, not_counted_reason="removed")
    AnnotatorFigures.objects.update(n_submitted=0)
    assert monitoring.refresh_figures(project=project).n_annotators == 5
    assert load_figures(people[-1]) == before


def test_another_projects_annotators_are_left_alone(project: Project, people: list[Membership]) -> None:
    stranger = make_membership(Project.objects.create(slug="other", name="Other"))
    assert monitoring.refresh_figures(project=project, annotators=[stranger]) == monitoring.Refreshed()
    assert not AnnotatorFigures.objects.exists()


def test_real_judgments_raise_no_serious_finding(empty_project: Project, squality_dir: Path, tmp_path: Path) -> None:
    make_membership(empty_project, role=Membership.Role.OWNER)
    answers = gzip.decompress((squality_dir / "mocha_format.json.gz").read_bytes())
    take_file(empty_project, answers, "squality.json", tmp_path)
    ratings = (squality_dir / "ratings.csv").read_bytes()
    for column in ("correctness_1to5=correctness:1-5",):
        take_file(empty_project, ratings, "ratings.csv", tmp_path, kind=Kind.JUDGMENTS, criteria=(column,))
    assert monitoring.refresh_figures(project=empty_project).n_annotators == 4
    assert not Finding.objects.filter(evidence__is_serious=True).exists()


def test_batches_without_quality_criteria_have_no_figures(project: Project, people: list[Membership]) -> None:
    for batch in Batch.objects.filter(project=project):
        batch.rubric.criteria.update(used_for_quality=False)
    assert monitoring.refresh_figures(project=project) == monitoring.Refreshed()
