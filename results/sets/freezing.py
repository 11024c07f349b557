"""Freezing: a selection of judgments becomes a numbered set of files that never changes again.

The files are written before the transaction that stores the set, from one snapshot, in a folder that belongs to the
attempt; the archive gets a name that no other has. What a killed worker leaves is deleted by `delete_files`.
"""

import re
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
from projects.database import identity
from projects.database.numbering import next_number
from projects.errors import Refused
from projects.jobs import queue, running
from projects.jobs.running import OnProgress
from projects.models import Act, Event, Membership, Project
from projects.people.members import find_owner
from projects.web.links import absolute_url
from projects.web.uploads import delete_path
from projects.webhooks.recording import record_event
from results.models import JudgmentSet
from results.sets import archive, building, canonical, citing, studies
from results.sets.changes import Earlier
from results.sets.selecting import Selection, has_judgments, refuse_unknown
from results.sets.settings import Settings

NAME_LENGTH = 120
ARCHIVE = ".zip"
# Generous, as leftovers only take room; files of a live attempt are spared by its row, however old.
ORPHAN_SECONDS = 3600
"""Files that nothing has written to for this long are orphans, unless a row says otherwise."""
_NAME = re.compile(r"([0-9]{1,18})-([0-9]{1,9})-")
"""How the name of a file of an attempt begins; any other file was put there by somebody, and stays."""

State = JudgmentSet.State


def default_settings(project: Project) -> Settings:
    """Return the settings of a set where nothing is selected.

    The project's stage and gold rule; authors, licence and languages are those of its newest set.
    """
    rule = read_gold_rule(project)
    newest = project.judgment_sets.frozen().first()
    terms = Settings.from_dict(newest.settings) if newest else Settings()
    return Settings(
        stage=default_stage(project),
        gold=rule.rule,
        controls_in_z=rule.with_controls,
        authors=terms.authors,
        licence=terms.licence,
        languages=terms.languages,
    )


def request_set(
    *, project: Project, actor: Membership, name: str, settings: Settings, is_enqueued: bool = True
) -> JudgmentSet:
    """Queue a set under the project's next number. Raises Refused where no judgment would be included.

    The project's rule on adjudicated scores is fixed now. Locks the numbering of the project's sets.
    """
    name = " ".join(name.split())
    if not name:
        raise Refused("Enter a name for the set.")
    if len(name) > NAME_LENGTH:
        raise Refused(f"The name is longer than {NAME_LENGTH} characters.")
    citing.refuse_wrong_terms(settings.authors, settings.licence, settings.languages)
    refuse_unknown(project, settings)
    studies.choose_studies(project, settings.studies)
    settings = replace(settings, adjudication_wins=uses_adjudication(project))
    # Refused at once where it can be known; the job asks again, as judgments may be excluded before it begins.
    if not has_judgments(Selection(project, settings)):
        raise Refused(building.NOTHING)
    with transaction.atomic():
        judgment_set = JudgmentSet.objects.create(
            project=project,
            number=next_number(project, JudgmentSet),
            name=name,
            settings=settings.as_dict(),
            requested_by=actor,
        )
        log.record(
            project,
            actor,
            Act.ASK_FOR_JUDGMENT_SET,
            judgment_set,
            # The log holds no names of people; those of the authors are in the set's own settings.
            after={"name": name, "settings": {**judgment_set.settings, "authors": len(settings.authors)}},
        )
        if is_enqueued:
            queue.enqueue_on_commit(judgment_set)
    return judgment_set


def freeze_now(*, project: Project, name: str, settings: Settings) -> JudgmentSet:
    """Freeze a set in this process, on behalf of the project's owner.

    Raises Refused, also with the error of a failed job.
    """
    owner = find_owner(project, for_what="sets are frozen")
    judgment_set = request_set(project=project, actor=owner, name=name, settings=settings, is_enqueued=False)
    run(judgment_set.pk)
    judgment_set.refresh_from_db()
    if not judgment_set.is_frozen:
        raise Refused(judgment_set.error or f"Freezing ended as “{judgment_set.get_state_display()}”.")
    return judgment_set


def start_again(*, judgment_set: JudgmentSet) -> None:
    """Queue a set that failed, was cancelled or was interrupted twice, with the same settings."""
    if judgment_set.is_frozen:
        raise Refused("This set is frozen already.")
    queue.queue(judgment_set)


def run(pk: int) -> str | None:
    """Do the job: read and write the files as of one moment, then store the set.

    Returns the state in which it ended.
    """
    state = running.run(JudgmentSet, pk, make, only_reads=True, finish=store)
    delete_files()
    return state


def make(judgment_set: JudgmentSet, on_progress: OnProgress) -> dict[str, Any]:
    """Write the files of a set within one snapshot, and return what its row stores; the act of the job."""
    if judgment_set.project.deleted_at is not None:
        raise Refused("The project has been deleted.")
    settings = Settings.from_dict(judgment_set.settings)
    url = absolute_url(judgment_set.get_absolute_url()) if site.SITE_URL else ""
    identity = building.Identity(judgment_set.number, judgment_set.name, judgment_set.folder_name, url)
    # The random part keeps an attempt that was taken for dead, and wakes late, from writing into its successor's
    # folder.
    stem = f"{judgment_set.pk}-{judgment_set.attempt}-{secrets.token_hex(8)}"
    with _open_workspace(stem) as workspace:
        found = building.read(Selection(judgment_set.project, settings), identity, workspace.folder, on_progress)
        progress = building.Progress(on_progress, found.counts.n_rows)
        figures = building.derive(workspace.folder, progress, _find_earlier(judgment_set), found.judgments)
        if settings.with_surveys:
            figures["surveyed"] = canonical.list_surveyed(workspace.folder)
        files = building.pack(workspace.folder, workspace.archive, identity, progress)
        sha256 = archive.compute_sha256(workspace.archive)
        # Only a whole archive is kept: whatever fails before this line leaves nothing behind.
        workspace.keep()
    about = figures.pop("about")
    # An evaluation rests on judgments that may lie outside the set. Its annotators are stored with the set, so that
    # it is retired when one of them withdraws consent.
    if settings.studies:
        figures["annotators"] = sorted(
            {*figures["annotators"], *studies.find_annotators_behind_studies(judgment_set.project)}
        )
    return {
        "facts": {**figures, "folder": identity.folder},
        "files": [file.as_dict() for file in files],
        "stored_name": workspace.archive.name,
        "n_bytes": workspace.archive.stat().st_size,
        "sha256": sha256,
        # The moment of the snapshot, with which later withdrawals are compared, and not the end of the job.
        "frozen_at": datetime.fromisoformat(about["snapshot_at"]),
    }


def store(judgment_set: JudgmentSet, changes: dict[str, Any]) -> None:
    """Log the set in the transaction that marks it as frozen."""
    after = {"number": judgment_set.number, "name": judgment_set.name, "sha256": changes["sha256"]}
    log.record(judgment_set.project, judgment_set.requested_by, Act.FREEZE_JUDGMENT_SET, judgment_set, after=after)
    record_event(
        judgment_set.project,
        Event.SET_FROZEN,
        key=f"set:{judgment_set.pk}",
        data={"set": judgment_set.number, "n_bytes": changes["n_bytes"], "sha256": changes["sha256"]},
    )


def find_path(judgment_set: JudgmentSet) -> Path:
    return folder() / judgment_set.stored_name


def as_earlier(judgment_set: JudgmentSet) -> Earlier:
    """Return a frozen set as one to compare a later set with."""
    return Earlier(
        number=judgment_set.number,
        name=judgment_set.name,
        sha256=judgment_set.sha256,
        settings=Settings.from_dict(judgment_set.settings),
        facts=judgment_set.facts,
        # A function, as the archive is opened only once the comparison begins.
        long_lines=lambda: archive.read_lines(
            find_path(judgment_set), judgment_set.facts["folder"], canonical.LONG_JSONL
        ),
    )


def find_files(judgment_set: JudgmentSet) -> list[archive.File]:
    return [archive.File(**each) for each in judgment_set.files]


def verify(judgment_set: JudgmentSet) -> list[str]:
    """Recompute every SHA-256 of a frozen set; return a sentence for each difference.

    Raises Refused where nothing is frozen.
    """
    if not judgment_set.is_frozen:
        raise Refused("This set is not frozen yet.")
    return archive.find_breaches(
        find_path(judgment_set),
        sha256=judgment_set.sha256,
        inside=judgment_set.facts["folder"],
        files=find_files(judgment_set),
    )


def folder() -> Path:
    """Return the folder of the archives; no web server serves it."""
    path = Path(site.MEDIA_ROOT) / "sets"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def delete_files() -> None:
    """Delete what attempts left that did not end with a frozen set, except those that are unfinished."""
    # Names are asked of the database only when there is something old.
    before = time.time() - ORPHAN_SECONDS
    left = [
        (path, match) for path in folder().iterdir() if (match := _NAME.match(path.name)) and _is_older(path, before)
    ]
    if not left or not identity.may_delete_unnamed():
        return
    rows = {row[0]: row[1:] for row in JudgmentSet.objects.values_list("pk", "stored_name", "state", "attempt")}
    for path, match in left:
        # The name begins with the row and the attempt, so a file is judged without opening it.
        pk, attempt = map(int, match.groups())
        stored_name, state, newest = rows.get(pk, ("", State.FAILED, 0))
        is_live = state in (*JudgmentSet.LIVE, State.INTERRUPTED) and attempt == newest
        if path.name != stored_name and not is_live:
            delete_path(path)


def _is_older(path: Path, than: float) -> bool:
    try:
        return path.stat().st_mtime < than
    except FileNotFoundError:  # an attempt that ends now has just deleted it
        return False


@dataclass
class _Workspace:
    """The folder that an attempt works in, and the archive that it writes."""

    folder: Path
    archive: Path
    is_kept: bool = False

    def keep(self) -> None:
        self.is_kept = True


@contextmanager
def _open_workspace(stem: str) -> Iterator[_Workspace]:
    workspace = _Workspace(folder() / stem, folder() / f"{stem}{ARCHIVE}")
    workspace.folder.mkdir(mode=0o700)
    try:
        yield workspace
    finally:
        shutil.rmtree(workspace.folder, ignore_errors=True)
        if not workspace.is_kept:
            workspace.archive.unlink(missing_ok=True)


def _find_earlier(judgment_set: JudgmentSet) -> Earlier | None:
    """Return the previous frozen set, or None where there is none or its archive is gone."""
    before = judgment_set.project.judgment_sets.frozen().filter(number__lt=judgment_set.number).first()
    return as_earlier(before) if before is not None and find_path(before).is_file() else None
