"""Studies as jobs: asked for, computed from one moment, stored with settings and seed, and taken away again."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import orjson
from django.db import connection, transaction

from projects import log
from projects.database.numbering import next_number
from projects.errors import Refused
from projects.jobs import queue, running
from projects.jobs.running import OnProgress
from projects.models import Act, Membership, Project
from results.models import Study
from results.scope.gold_settings import MOST_RESAMPLES
from results.studies.frame import Frame
from results.studies.kinds import KINDS, Kind
from results.studies.settings import Settings
from results.studies.stored import stored

NAME_LENGTH = 120
LARGEST_SEED = 2**31 - 1

State = Study.State


def find_kind(name: str) -> Kind:
    """The kind of this name. Raises Refused, naming those there are."""
    if name not in KINDS:
        raise Refused("There is no kind of study “{kind}”; there is {kinds}.".format(kind=name, kinds=", ".join(KINDS)))
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
    """Queue a study under the project's next number. Locks the numbering of the project's studies."""
    chosen = find_kind(kind)
    _check(chosen, settings, seed)
    name = " ".join(name.split()) or str(chosen.title)
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


def study_now(*, project: Project, kind: str, settings: Settings, seed: int, name: str = "") -> Study:
    """Run a study in this process, for the project's owner. Raises Refused, also with what ended the job."""
    owner = project.memberships.filter(role=Membership.Role.OWNER).order_by("id").first()
    if owner is None:
        raise Refused("This project has no owner, and a study needs somebody it is for.")
    study = request_study(
        project=project, actor=owner, kind=kind, settings=settings, seed=seed, name=name, is_enqueued=False
    )
    running.run(Study, study.pk, run, only_reads=True)
    study.refresh_from_db()
    if study.state != State.DONE:
        raise Refused(study.error or f"The study ended as “{study.get_state_display()}”.")
    return study


def run_again(*, study: Study, actor: Membership) -> Study:
    """Ask for a new study with the settings and the seed of this one, of the judgments and scores as they are now."""
    return request_study(
        project=study.project,
        actor=actor,
        kind=study.kind,
        settings=Settings.from_dict(study.settings),
        seed=study.seed,
        name=study.name,
    )


def delete_study(*, study: Study, actor: Membership) -> None:
    """Take a study away with its result; the log keeps what it was asked.

    Raises Refused while it is under way, and to a researcher for a study that somebody else asked for.
    """
    if not may_delete(study, actor):
        raise Refused("Only a manager or the member who requested this evaluation can delete it.")
    with transaction.atomic():
        rows = Study.objects.select_for_update(no_key=True).filter(pk=study.pk)
        if any(row.is_live for row in rows):
            raise Refused("This evaluation is running. Cancel it first.")
        before = {"number": study.number, "kind": study.kind, "name": study.name, "settings": study.settings}
        log.record(study.project, actor, Act.DELETE_STUDY, study, before=before)
        rows.delete()


def may_delete(study: Study, actor: Membership) -> bool:
    return actor.can_manage or study.requested_by_id == actor.pk


def run(study: Study, on_progress: OnProgress) -> dict[str, Any]:
    """The act of the job: what comes of the study, as JSON holds it."""
    if study.project.deleted_at is not None:
        raise Refused("The project has been deleted.")
    on_progress(0, 0)
    kind, settings = find_kind(study.kind), Settings.from_dict(study.settings)
    frame = kind.read(study.project, settings)
    figures = kind.compute(frame, settings, study.seed, on_progress)
    return {"result": _as_json({**about(frame, study.seed), "figures": figures})}


def about(frame: Frame, seed: int) -> dict[str, Any]:
    """What a result says of the data that it rests on."""
    criterion = frame.scope.criterion
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        at: datetime = cursor.fetchone()[0]
    return {
        "read_at": at.astimezone(UTC).isoformat(),
        "criterion": {"key": criterion.key, "name": criterion.name, "low": criterion.low, "high": criterion.high},
        "n": len(frame.table),
        "n_judgments": len(frame.judgments),
        "n_passages": int(frame.table["passage"].nunique()),
        "n_questions": int(frame.table["question"].nunique()),
        "left_out": asdict(frame.left_out),
        "metrics": [asdict(metric) for metric in frame.metrics],
        "ceiling": stored(frame.ceiling(seed=seed)),
        "has_simulated": frame.has_simulated,
    }


def _as_json(result: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = orjson.loads(orjson.dumps(result, option=orjson.OPT_SERIALIZE_NUMPY))
    return made


def _check(kind: Kind, settings: Settings, seed: int) -> None:
    if not settings.metrics:
        raise Refused("Choose at least one metric.", field="metrics")
    if len(set(settings.metrics)) < kind.least_metrics:
        raise Refused("This type of evaluation compares metrics. Select at least two.", field="metrics")
    if not 0 <= seed <= LARGEST_SEED:
        raise Refused(f"The seed is a whole number from 0 to {LARGEST_SEED}.", field="seed")
    if not 100 <= settings.n_resamples <= MOST_RESAMPLES:
        raise Refused(f"The number of resamples is from 100 to {MOST_RESAMPLES}.", field="resamples")
    if settings.least_judgments < 1:
        raise Refused("The minimum is one judgment per candidate.", field="least")
