"""Where trainings keep their files: checkpoints while they run, and the folder of the model that one made."""

import re
import time
from pathlib import Path

from django.conf import settings as site

from projects.database import identity
from projects.web.uploads import delete_path
from results.models import Training

ORPHAN_SECONDS = 3600
"""What is younger may belong to a row that is not committed yet."""
WORK, MODEL = ".work", ".model"
_OWN = re.compile(r"([0-9]{1,18})\.work|([0-9a-f]{32})(\.model)?")


def folder() -> Path:
    """Return the folder of trainings; no web server serves it."""
    path = Path(site.MEDIA_ROOT) / "trainings"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def find_work(training: Training) -> Path:
    """Return the folder of checkpoints; it outlives the attempt, so that the next one goes on there."""
    path = folder() / f"{training.pk}{WORK}"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def find_model(training: Training) -> Path:
    return folder() / f"{training.stored_name}{MODEL}"


def find_model_by_digest(digest: str) -> Path | None:
    """Return the folder of a trained model by its digest; None if there is none any more."""
    training = Training.objects.usable().filter(sha256=digest).first()
    return find_model(training) if training is not None else None


def delete(training: Training) -> None:
    """Delete the files of a training whose row is gone."""
    delete_path(folder() / f"{training.pk}{WORK}")
    if training.stored_name:
        delete_path(find_model(training))
        delete_path(folder() / training.stored_name)


def delete_orphans() -> None:
    """Delete checkpoints of trainings that are done or gone, and models that no training names."""
    if not identity.may_delete_unnamed():
        return
    before = time.time() - ORPHAN_SECONDS
    rows = dict(Training.objects.values_list("pk", "stored_name"))
    named = {name for name in rows.values() if name}
    finished = set(Training.objects.filter(result__isnull=False).values_list("pk", flat=True))
    for path in folder().iterdir():
        match = _OWN.fullmatch(path.name)
        if match is None or path.stat().st_mtime > before:
            continue
        pk, name = match[1], match[2]
        is_kept = int(pk) in rows and int(pk) not in finished if pk else name in named
        if not is_kept:
            delete_path(path)
