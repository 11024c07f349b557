"""Metric evaluations as jobs: requested, computed from one snapshot, stored with settings and seed, deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import orjson
from django.db import connection, transaction

from projects import log
from projects.database.numbering import next_number
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.jobs import queue, running
from projects.jobs.running import OnProgress
from projects.models import Act, Membership, Project
from projects.people.members import find_owner
from projects.web.keyed_forms import find_made_before
from results.models import Study
from results.reports.reports import has_many_judgments
from results.scope.gold_settings import LARGEST_SEED, MOST_RESAMPLES
from results.studies.frame import Frame
from results.studies.freshness import VERSION, describe_version
from results.studies.kinds import KINDS, Kind
from results.studies.settings import Settings
from results.studies.stored import NEWEST_WORDING, WORDING, store
from results.studies.warnings import list_warnings

NAME_LENGTH = 120

State = Study.State


def find_kind(name: str) -> Kind:
    """Return the kind of this name. Raises Refused, naming those there are."""
    if name not in KINDS:
        raise Refused(f"There is no kind of evaluation “{name}”. Choose one of: {', '.join(KINDS)}.")
    return KINDS[name]


def request_study(
    *,
    project: Project,
    actor: Membership,
    kind: str,
    settings: Settings,
    seed: int,
    name: str = "",
    is_enqueued: bool = True,
) -> Study:
    """Queue an evaluation under the project's next number. Locks the numbering of the project's evaluations."""
    found = find_kind(kind)
    _check(found, settings, seed)
    name = " ".join(name.split()) or str(found.title)
    if len(name) > NAME_LENGTH:
        raise Refused(f"The name is longer than {NAME_LENGTH} characters.", field="name")
    with transaction.atomic():
        study = Study.objects.create(
            project=project,
            number=next_number(project, Study),
            kind=kind,
            name=name,
            settings=settings.as_dict(),
            seed=seed,
            requested_by=actor,
        )
        after = {"number": study.number, "kind": kind, "name": name, "settings": study.settings, "seed": seed}
        log.record(project, actor, Act.ASK_FOR_STUDY, study, after=after)
        if is_enqueued:
            queue.enqueue_on_commit(study)
    return study


def request_each(
    *,
    project: Project,
    actor: Membership,
    kind: str,
    settings: Sequence[Settings],
    seed: int,
    name: str = "",
    newest: str = "",
) -> list[Study]:
    """Queue an evaluation for each of these settings, or none: with several, the splits are added to the names.

    Returns those that the same form has queued before, if it is sent twice: `newest` is what its page had.
    """
    title = " ".join(name.split()) or str(find_kind(kind).title)
    names = [title if len(settings) == 1 else f"{title}, {', '.join(each.splits)}"[:NAME_LENGTH] for each in settings]
    for each in settings:
        check_data(project, kind, each)
    with transaction.atomic():
        studies = [
            request_study(project=project, actor=actor, kind=kind, settings=each, seed=seed, name=own)
            for each, own in zip(settings, names, strict=True)
        ]
        alike = ["kind", "settings", "seed", "name", "requested_by"]
        before = [find_made_before(study, newest=newest, alike=alike) for study in studies]
        # Who has cancelled one, or seen it fail, and goes back to its form means another one.
        found = [study for study in before if study and (study.is_live or study.state == State.DONE)]
        if len(found) == len(studies):
            transaction.set_rollback(True)
            return found
    return studies


def check_data(project: Project, kind: str, settings: Settings) -> None:
    """Refuse an evaluation that cannot work, before it runs, with what is missing and how to provide it.

    Over many judgments reading takes too long for a request, so only the job finds out.
    """
    if not has_many_judgments(project, settings.criterion):
        found = find_kind(kind)
        with snapshot():
            found.check(found.read(project, settings), settings)


def study_now(*, project: Project, kind: str, settings: Settings, seed: int, name: str = "") -> Study:
    """Run an evaluation in this process, on behalf of the project's owner.

    Raises Refused, also with a failed job's error.
    """
    owner = find_owner(project, for_what="evaluations run")
    study = request_study(
        project=project, actor=owner, kind=kind, settings=settings, seed=seed, name=name, is_enqueued=False
    )
    running.run(Study, study.pk, run, only_reads=True)
    study.refresh_from_db()
    if study.state != State.DONE:
        raise Refused(study.error or f"The evaluation ended as “{study.get_state_display()}”.")
    return study


def run_again(*, study: Study, actor: Membership) -> Study:
    """Request a new evaluation with the settings and seed of this one, over the present judgments and scores."""
    return request_study(
        project=study.project,
        actor=actor,
        kind=study.kind,
        settings=Settings.from_dict(study.settings),
        seed=study.seed,
        name=study.name,
    )


def delete_study(*, study: Study, actor: Membership) -> None:
    """Delete an evaluation with its result; the log keeps its settings.

    Raises Refused while it is running, and to a researcher for an evaluation that someone else requested.
    """
    if not may_delete(study, actor):
        raise Refused("Only a manager or the member who requested this evaluation can delete it.")
    with transaction.atomic():
        # Locked, so that a worker cannot claim the job between the test and the deletion.
        rows = Study.objects.select_for_update(no_key=True).filter(pk=study.pk)
        if any(row.is_live for row in rows):
            raise Refused("This evaluation is running. Cancel it first.")
        before = {"number": study.number, "kind": study.kind, "name": study.name, "settings": study.settings}
        log.record(study.project, actor, Act.DELETE_STUDY, study, before=before)
        rows.delete()


def may_delete(study: Study, actor: Membership) -> bool:
    return actor.can_manage or study.requested_by_id == actor.pk


def run(study: Study, on_progress: OnProgress) -> dict[str, Any]:
    """Compute the result of an evaluation, as JSON holds it; the act of the job."""
    if study.project.deleted_at is not None:
        raise Refused("The project has been deleted.")
    on_progress(0, 0)
    kind, settings = find_kind(study.kind), Settings.from_dict(study.settings)
    version = describe_version(study.project)
    frame = kind.read(study.project, settings)
    figures = kind.compute(frame, settings, study.seed, on_progress)
    described = describe_data(frame, settings, study.seed)
    # The scores of minimal pairs are not correlated, so nothing there has a ceiling.
    if not kind.is_of_pairs:
        described["reliability"] = store(frame.ceiling(settings))
    return {"result": _as_json({**described, VERSION: version, "figures": figures})}


def describe_data(frame: Frame, settings: Settings, seed: int) -> dict[str, Any]:
    """Return what a result stores about its data."""
    criterion = frame.scope.criterion
    with connection.cursor() as cursor:
        # In the transaction of the snapshot this is its time, not that of the call.
        cursor.execute("SELECT now()")
        at: datetime = cursor.fetchone()[0]
    return {
        "read_at": at.astimezone(UTC).isoformat(),
        "criterion": {"key": criterion.key, "name": criterion.name, "low": criterion.low, "high": criterion.high},
        "n": len(frame.table),
        "n_judgments": frame.n_judgments,
        "n_shared": frame.n_shared,
        "n_passages": int(frame.table["passage"].nunique()),
        "n_questions": int(frame.table["question"].nunique()),
        "left_out": asdict(frame.left_out),
        "metrics": [asdict(metric) for metric in frame.metrics],
        "ceiling": store(frame.one_against_others(seed=seed)),
        "has_simulated": frame.has_simulated,
        "warnings": list_warnings(frame, settings),
        WORDING: NEWEST_WORDING,
    }


def _as_json(result: Mapping[str, Any]) -> dict[str, Any]:
    # NaN becomes null and numpy numbers become plain ones, as the page reads what JSON holds.
    plain: dict[str, Any] = orjson.loads(orjson.dumps(result, option=orjson.OPT_SERIALIZE_NUMPY))
    return plain


def _check(kind: Kind, settings: Settings, seed: int) -> None:
    if not settings.metrics:
        raise Refused("Choose at least one metric.", field="metrics")
    if len(set(settings.metrics)) < kind.least_metrics:
        raise Refused("This type of evaluation compares metrics. Select at least two.", field="metrics")
    if not 0 <= seed <= LARGEST_SEED:
        raise Refused(f"The seed must be a whole number from 0 to {LARGEST_SEED}.", field="seed")
    if not 100 <= settings.n_resamples <= MOST_RESAMPLES:
        raise Refused(f"The number of resamples must be from 100 to {MOST_RESAMPLES}.", field="resamples")
    if settings.least_judgments < 1:
        raise Refused("The minimum is one judgment per candidate.", field="least")
