"""Freezing: a choice of judgments becomes a numbered set of files that never changes again.

The files are made before the transaction that stores the set, from one snapshot, in a folder of the attempt's own; the
archive gets a name that nobody else has. What a killed worker leaves is removed by `tidy`.
"""

import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings as site
from django.db import transaction

from annotate.frames.stages import default_stage
from annotate.reviews.adjudication import read_gold_rule, uses_adjudication
from projects import log
from projects.database.numbering import next_number
from projects.errors import Refused
from projects.jobs import queue, running
from projects.jobs.running import OnProgress
from projects.models import Act, Membership, Project
from projects.web.uploads import delete_path
from results.models import JudgmentSet
from results.sets import archive, building, canonical, studies
from results.sets.changes import Earlier
from results.sets.selecting import Selection, preview, refuse_unknown
from results.sets.settings import Settings

NAME_LENGTH = 120
ARCHIVE = ".zip"
LEFT_SECONDS = 3600
"""What nobody has written to for so long is left over, unless a row says otherwise."""

State = JudgmentSet.State


def default_settings(project: Project) -> Settings:
    """What a set of the project holds where nothing is said: all of its stage, gold scores by the project's rule."""
    rule = read_gold_rule(project)
    return Settings(stage=default_stage(project), gold=rule.rule, controls_in_z=rule.with_controls)


def request_set(
    *, project: Project, actor: Membership, name: str, settings: Settings, is_enqueued: bool = True
) -> JudgmentSet:
    """Queue a set under the project's next number. Raises Refused where no judgment would enter.

    The project's rule on adjudicated scores is taken as it is now. Locks the numbering of the project's sets.
    """
    name = " ".join(name.split())
    if not name:
        raise Refused("Give the set a name.")
    if len(name) > NAME_LENGTH:
        raise Refused(f"The name is longer than {NAME_LENGTH} characters.")
    refuse_unknown(project, settings)
    studies.choose_studies(project, settings.studies)
    settings = replace(settings, adjudication_wins=uses_adjudication(project))
    if not preview(Selection(project, settings)).n_included:
        raise Refused(building.NOTHING)
    with transaction.atomic():
        made = JudgmentSet.objects.create(
            project=project,
            number=next_number(project, JudgmentSet),
            name=name,
            settings=settings.as_dict(),
            requested_by=actor,
        )
        log.record(project, actor, Act.ASK_FOR_JUDGMENT_SET, made, after={"name": name, "settings": made.settings})
        if is_enqueued:
            queue.enqueue_on_commit(made)
    return made


def freeze_now(*, project: Project, name: str, settings: Settings) -> JudgmentSet:
    """Freeze a set in this process, for the project's owner. Raises Refused, also with what ended the job."""
    owner = project.memberships.filter(role=Membership.Role.OWNER).order_by("id").first()
    if owner is None:
        raise Refused("This project has no owner, and a set needs somebody it is for.")
    made = request_set(project=project, actor=owner, name=name, settings=settings, is_enqueued=False)
    run(made.pk)
    made.refresh_from_db()
    if not made.is_frozen:
        raise Refused(made.error or f"Freezing ended as “{made.get_state_display()}”.")
    return made


def start_again(*, made: JudgmentSet) -> None:
    """Queue a set that failed, was cancelled or was interrupted twice, with the same settings."""
    if made.is_frozen:
        raise Refused("This set is frozen already.")
    queue.queue(made)


def run(pk: int) -> str | None:
    """Do the job: read and make the files as of one moment, then store the set. Returns the state it ended in."""
    state = running.run(JudgmentSet, pk, make, only_reads=True, finish=store)
    delete_files()
    return state


def make(made: JudgmentSet, on_progress: OnProgress) -> dict[str, Any]:
    """The act of the job, all within one snapshot; nothing is left of it where it fails."""
    if made.project.deleted_at is not None:
        raise Refused("The project has been deleted.")
    settings = Settings.from_dict(made.settings)
    identity = building.Identity(made.number, made.name, made.folder_name)
    stem = f"{made.pk}-{made.attempt}-{secrets.token_hex(8)}"
    with _room(stem) as room:
        counts = building.read(Selection(made.project, settings), identity, room.folder, on_progress)
        progress = building.Progress(on_progress, counts.n_rows)
        figures = building.derive(room.folder, progress, _earlier(made))
        files = building.pack(room.folder, room.archive, identity, progress)
        sha256 = archive.compute_sha256(room.archive)
        room.keep()
    about = figures.pop("about")
    if settings.studies:
        figures["annotators"] = sorted({*figures["annotators"], *studies.find_annotators_behind_studies(made.project)})
    return {
        "facts": {**figures, "folder": identity.folder},
        "files": [file.as_dict() for file in files],
        "stored_name": room.archive.name,
        "n_bytes": room.archive.stat().st_size,
        "sha256": sha256,
        "frozen_at": datetime.fromisoformat(about["snapshot_at"]),
    }


def store(made: JudgmentSet, changes: dict[str, Any]) -> None:
    """What belongs to the set in the transaction that marks it as frozen."""
    after = {"number": made.number, "name": made.name, "sha256": changes["sha256"]}
    log.record(made.project, made.requested_by, Act.FREEZE_JUDGMENT_SET, made, after=after)


def find_path(made: JudgmentSet) -> Path:
    return folder() / made.stored_name


def as_earlier(made: JudgmentSet) -> Earlier:
    """A frozen set as one to compare a later one with."""
    return Earlier(
        number=made.number,
        name=made.name,
        sha256=made.sha256,
        settings=Settings.from_dict(made.settings),
        facts=made.facts,
        long_lines=lambda: archive.read_lines(find_path(made), made.facts["folder"], canonical.LONG_JSONL),
    )


def find_files(made: JudgmentSet) -> list[archive.File]:
    return [archive.File(**each) for each in made.files]


def verify(made: JudgmentSet) -> list[str]:
    """Recompute every SHA-256 of a frozen set; sentences on what differs. Raises Refused where nothing is frozen."""
    if not made.is_frozen:
        raise Refused("This set is not frozen yet.")
    return archive.find_breaches(
        find_path(made), sha256=made.sha256, inside=made.facts["folder"], files=find_files(made)
    )


def folder() -> Path:
    """Where archives are kept: no web server looks there."""
    path = Path(site.MEDIA_ROOT) / "sets"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def delete_files() -> None:
    """Remove what attempts left that did not end with a frozen set, but for those that are under way."""
    before = time.time() - LEFT_SECONDS
    left = [path for path in folder().iterdir() if path.stat().st_mtime < before]
    if not left:
        return
    rows = {row[0]: row[1:] for row in JudgmentSet.objects.values_list("pk", "stored_name", "state", "attempt")}
    for path in left:
        pk, attempt = map(int, path.name.split("-")[:2])
        stored_name, state, newest = rows.get(pk, ("", State.FAILED, 0))
        is_live = state in (*JudgmentSet.LIVE, State.INTERRUPTED) and attempt == newest
        if path.name != stored_name and not is_live:
            delete_path(path)


@dataclass
class _Room:
    """The folder that an attempt works in, and the archive that it makes."""

    folder: Path
    archive: Path
    is_kept: bool = False

    def keep(self) -> None:
        self.is_kept = True


@contextmanager
def _room(stem: str) -> Iterator[_Room]:
    room = _Room(folder() / stem, folder() / f"{stem}{ARCHIVE}")
    room.folder.mkdir(mode=0o700)
    try:
        yield room
    finally:
        shutil.rmtree(room.folder, ignore_errors=True)
        if not room.is_kept:
            room.archive.unlink(missing_ok=True)


def _earlier(made: JudgmentSet) -> Earlier | None:
    """The frozen set before this one; None where there is none, or where its files are gone."""
    before = made.project.judgment_sets.frozen().filter(number__lt=made.number).first()
    return as_earlier(before) if before is not None and find_path(before).is_file() else None
