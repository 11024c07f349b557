"""Metrics, studies of every kind, reports and judgment sets, done and in every other state."""

from dataclasses import replace
from datetime import timedelta
from itertools import cycle

from django.db.models import F
from django.test import Client

from annotate.frames.stages import Stage
from annotate.onboarding import consent
from annotate.work import drafts
from measures.gold_rules import GoldRule
from projects.importing import Options
from projects.jobs import queue, running
from projects.models import Candidate, Project
from results.metrics import computing
from results.models import MetricChunk, MetricRun, Report, ScoreFile, Study, Training
from results.reports import reports
from results.scope.human_sources import keep_choice
from results.score_import import importing
from results.sets import freezing, retiring
from results.sets.settings import Settings as SetSettings
from results.studies import causes
from results.studies import running as studying
from results.studies.settings import Settings as StudySettings
from results.studies.settings import default_settings
from tests.old_data.filling.bay import ENDS, Bay, answers, end, uploaded, write_csv
from tests.results.training.factories import training_samples

METRICS = ("exact_match", "token_f1", "rouge_l", "bleu_1")
OTHER_METRICS = ("chrf", "rouge_1", "rouge_2", "bleu_2", "bleu_3")
ADAPTED = "adapted_rouge_l"
PAGES = ("agreement/", "agreement/annotators/", "agreement/time/", "scores/", "scores/systems/", "scores/planner/")
"""Those whose figures may be asked for."""
N_RESAMPLES = 100


def measure(bay: Bay) -> None:
    runs = [computing.run_now(project=bay.project, name=name, settings={}) for name in METRICS]
    computing.run_now(project=bay.project, name=METRICS[0], settings={})
    runs += _upload_scores(bay)
    for name, state in zip(OTHER_METRICS, ENDS, strict=True):
        end(computing.request_run(project=bay.project, actor=bay["researcher"], name=name, settings={}), state)
    _divide(MetricRun.objects.filter(project=bay.project, state="running").latest("pk"))
    _study(bay, runs)
    _report(bay)


def _divide(run: MetricRun) -> None:
    """Chunks of a run, one in each state; the example has too few candidates for a run that is divided."""
    MetricChunk.objects.bulk_create(
        MetricChunk(
            run=run,
            requested_by_id=run.requested_by_id,
            number=number,
            first_question=number,
            last_question=number,
            n_candidates=1,
            state=state,
        )
        for number, state in enumerate(MetricChunk.State, start=1)
    )


def choose_about_human_sources() -> None:
    for project, choice in zip(Project.objects.order_by("pk"), Project.HumanSources, strict=False):
        keep_choice(project=project, actor=None, choice=choice)


def _upload_scores(bay: Bay) -> list[MetricRun]:
    """Scores from a file, and files that were not taken."""
    candidates = Candidate.objects.in_project(bay.project).order_by("pk").values_list("dataset__name", "external_id")
    rows = [["dataset", "candidate_id", "learned"], *([*each, str(n % 10 / 10)] for n, each in enumerate(candidates))]
    taken = _receive(bay, "learned.csv", write_csv([*rows, ["free-answers", "nobody", "1"]]))
    importing.request_import(job=taken, actor=bay["owner"], names={"learned": "Learned"})
    importing.run(taken.pk)
    _receive(bay, "later.csv", write_csv(rows[:9]))
    importing.stop(job=_receive(bay, "wrong.csv", write_csv(rows[:5])))
    _receive(bay, "broken.csv", b"a,b\n1,2\n")
    for state in ("queued", "running", "interrupted"):
        end(_receive(bay, f"{state}.csv", write_csv(rows[:3]), is_read=False), state)
    return list(taken.runs.all())


def _receive(bay: Bay, name: str, content: bytes, *, is_read: bool = True) -> ScoreFile:
    with uploaded(name, content) as upload:
        job = importing.receive(project=bay.project, actor=bay["owner"], upload=upload, options=Options())
    if is_read:
        importing.run(job.pk)
        job.refresh_from_db()
    return job


def _settings(bay: Bay, runs: list[MetricRun]) -> StudySettings:
    asked = {"criterion": "correctness", "metrics": tuple(run.subject for run in runs), "n_resamples": N_RESAMPLES}
    return StudySettings(**{**default_settings(bay.project), **asked})


def _study(bay: Bay, runs: list[MetricRun]) -> None:
    asked = _settings(bay, runs)
    adapted = computing.run_now(project=bay.project, name=ADAPTED, settings={})
    weights = {"largest": 1.0, "step": 0.5}
    for kind, settings in {
        "correlation": asked,
        "systems": replace(asked, options={"n_questions": 5, "n_draws": 10}),
        "significance": replace(asked, options={"over": "passages"}),
        "pairs": asked,
        "sweep": replace(asked, metrics=(adapted.subject,), options=weights),
        "groups": asked,
        "pairwise": replace(asked, options={"epsilon": 0.1}),
        "soft": replace(asked, options={"n_draws": 10}),
        "top_n": replace(asked, options={"threshold": 0.5, "human_threshold": 4, "depth": 3}),
        "redundancy": replace(asked, options={"redundancy": "completeness"}),
        "errors": replace(asked, options={"n_answers": 2}),
    }.items():
        made = studying.study_now(project=bay.project, kind=kind, settings=settings, seed=5)
    _name_cause(bay, made)
    for seed, state in enumerate(ENDS):
        end(_ask_study(bay, asked, seed), state)
    gone = _ask_study(bay, asked, len(ENDS))
    queue.cancel(gone)
    gone.refresh_from_db()
    studying.delete_study(study=gone, actor=bay["researcher"])


def _ask_study(bay: Bay, settings: StudySettings, seed: int) -> Study:
    return studying.request_study(
        project=bay.project, actor=bay["researcher"], kind="correlation", settings=settings, seed=seed
    )


def _name_cause(bay: Bay, errors: Study) -> None:
    assert errors.result
    first, *_ = errors.result["figures"]["lists"]
    answer, *_ = next(iter(first["parts"].values()))
    causes.set_cause(
        study=errors,
        actor=bay["researcher"],
        candidate=answer["candidate"],
        compared=first["compared"],
        cause="other words",
    )


def _report(bay: Bay) -> None:
    """The figures of every page that asks for a report, and reports in every other state."""
    client = Client()
    assert bay["owner"].user
    client.force_login(bay["owner"].user, backend="django.contrib.auth.backends.ModelBackend")
    for page in PAGES:
        assert client.post(f"/p/bay/{page}").status_code == 302, page
    for report in Report.objects.filter(state=Report.State.QUEUED):
        assert running.run(Report, report.pk, reports.make, only_reads=True) == Report.State.DONE, report.kind
    for state in ENDS:
        settings = {"of": state}
        end(reports.request_report(project=bay.project, actor=bay["owner"], kind="agreement", settings=settings), state)


def freeze(bay: Bay) -> None:
    """A set that a withdrawal retired, its successor, one with a study and comments, and those that were not frozen."""
    plain = SetSettings(n_resamples=N_RESAMPLES)
    first = freezing.freeze_now(project=bay.project, name="First", settings=plain)
    _withdraw(bay)
    retiring.retire_taken_out()
    first.refresh_from_db()
    freezing.run(retiring.request_successor(judgment_set=first, actor=bay["owner"]).pk)
    runs = list(MetricRun.objects.filter(project=bay.project).newest()[:3])
    study = studying.study_now(project=bay.project, kind="correlation", settings=_settings(bay, runs), seed=6)
    # A set takes no study that may have begun before the withdrawal.
    later = {name: F(name) + timedelta(minutes=1) for name in ("started_at", "finished_at")}
    Study.objects.filter(pk=study.pk).update(**later)
    full = replace(
        plain, stage=Stage.ALL, gold=GoldRule.Z, with_comments=True, is_blind_only=True, studies=(study.number,)
    )
    freezing.freeze_now(project=bay.project, name="With a study", settings=full)
    _train(bay)
    for state in ENDS:
        made = freezing.request_set(project=bay.project, actor=bay["owner"], name=f"Set {state}", settings=plain)
        end(made, state)


def _train(bay: Bay) -> None:
    """A metric trained, and requests for each other table in every other state."""
    training_samples(bay.project, bay["researcher"])
    done = Training.objects.get(project=bay.project)
    others = zip(ENDS, cycle(Training.Table.values), strict=False)
    for number, (state, table) in enumerate(others, start=done.number + 1):
        job = Training.objects.create(
            project=bay.project,
            number=number,
            name=f"training-{state}",
            judgment_set=done.judgment_set,
            criterion=done.criterion,
            table=table,
            settings=done.settings,
            requested_by=bay["researcher"],
        )
        end(job, state)


def _withdraw(bay: Bay) -> None:
    """One takes everything out, with a HIT open; one leaves what was given."""
    opened = bay.claim("dora")
    drafts.save_form(annotator=bay["dora"], assignment_uuid=opened.uuid, sent=answers(opened, 2))
    consent.withdraw(annotator=bay["dora"], removes_work=True)
    consent.withdraw(annotator=bay["gwen"], removes_work=False)
