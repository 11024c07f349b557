"""One project: its data, batches, people and results."""

import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import pandas as pd

from . import frames
from .connection import IS_CHANGED, Connection, quote_path
from .errors import ConcordError, JobFailed, MisleadingFigures, RetiredSet
from .tables import SetTables, is_whole, list_tables

WAIT_SECONDS = 600.0
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0
RETIRED_NOTE = "RETIRED.md"

Json = dict[str, Any]


class Project:
    """A project of the site. Filters are those of the API, such as `source="gpt"`; an unknown one is refused."""

    def __init__(self, connection: Connection, slug: str) -> None:
        self._connection = connection
        self.slug = slug

    def __repr__(self) -> str:
        return f"Project({self.slug!r} of {self._connection.url!r})"

    # Reading whatever the API has, for what has no method of its own.

    def get(self, path: str = "", **query: Any) -> Any:
        """Return the JSON of a path within the project, such as `qualification/`."""
        return self._connection.get(self._path(path), query)

    def list_rows(self, path: str, **filters: Any) -> pd.DataFrame:
        """Return a list of the API with all its pages, such as `people/`."""
        return frames.make_frame(self._connection.list_rows(self._path(path), filters))

    def post(self, path: str, **body: Any) -> Any:
        """Send a request that changes or starts something; it is never repeated."""
        return self.send("POST", path, **body)

    def send(self, method: str, path: str, **body: Any) -> Any:
        """Send a request by another method, such as PATCH or DELETE; it is never repeated."""
        return self._connection.send(method, self._path(path), body)

    # Data

    def datasets(self) -> pd.DataFrame:
        """Return the number of rows of each split of each dataset."""
        return frames.make_frame(self.get("datasets/")["results"])

    def passages(self, **filters: Any) -> pd.DataFrame:
        # Each comes with its whole text, so a page has fewer.
        return self.list_rows("passages/", page_size=100, **filters)

    def questions(self, **filters: Any) -> pd.DataFrame:
        return self.list_rows("questions/", **filters)

    def candidates(self, **filters: Any) -> pd.DataFrame:
        return self.list_rows("candidates/", **filters)

    def judgments(self, **filters: Any) -> pd.DataFrame:
        """Return one row for each judgment, also those that don't count, with the reason."""
        return self.list_rows("judgments/", **filters)

    def import_file(
        self, path: str | Path, kind: str = "candidates", *, timeout: float = WAIT_SECONDS, **options: Any
    ) -> Json:
        """Upload a file, have every row validated, and import it; return the import with its report.

        Raises JobFailed with the site's sentence if a row is invalid: then nothing is imported.
        """
        made = self._connection.upload(self._path("imports/"), Path(path), {"kind": kind, **options})
        place = f"imports/{made['number']}/"
        self._wait(place, "The validation", timeout)
        self.post(f"{place}write/")
        return self._wait(place, "The import", timeout)

    # Collection

    def batches(self, **filters: Any) -> pd.DataFrame:
        return self.list_rows("batches/", **filters)

    def batch(self, number: int) -> Json:
        """Return a batch with its progress."""
        return self._read(f"batches/{number}/")

    def create_batch(self, **terms: Any) -> Json:
        """Create a batch as a draft, such as `judgments=3, sources=["gpt"]`; open it by `move_batch`."""
        made: Json = self.post("batches/", **terms)
        return made

    def move_batch(self, number: int, act: str, *, why: str = "") -> Json:
        """Open, pause, close, reopen or archive a batch; a draft can also `use latest texts`."""
        moved: Json = self.post(f"batches/{number}/state/", act=act, **({"why": why} if why else {}))
        return moved

    def change_batch(self, number: int, **limits: Any) -> Json:
        """Change limits of a batch, such as `max_hits_per_day=20`; None removes one."""
        changed: Json = self.send("PATCH", f"batches/{number}/", **limits)
        return changed

    def change_judgments(self, number: int, judgments: int, **terms: Any) -> Json:
        """Change the number of judgments per candidate, of `hits=[1, 2]` alone if given; return what that changed."""
        changed: Json = self.post(f"batches/{number}/judgments/", judgments=judgments, **terms)
        return changed

    def delete_batch(self, number: int) -> None:
        """Delete a draft."""
        self.send("DELETE", f"batches/{number}/")

    def plans(self) -> pd.DataFrame:
        return self.list_rows("plans/")

    def plan(self, number: int) -> Json:
        """Return an overlap plan with what is missing now, and its expected cost."""
        return self._read(f"plans/{number}/")

    def create_plan(self, name: str, rules: Sequence[Mapping[str, Any]]) -> Json:
        """Create an overlap plan; a rule is such as `{"kind": "*", "split": "test", "judgments": 3}`."""
        made: Json = self.post("plans/", name=name, rules=[dict(rule) for rule in rules])
        return made

    def start_plan(self, number: int, **terms: Any) -> Json:
        """Create the batches that a plan is missing, as drafts unless `opens=True`; return their numbers."""
        started: Json = self.post(f"plans/{number}/start/", **terms)
        return started

    # People

    def people(self, **filters: Any) -> pd.DataFrame:
        return self.list_rows("people/", **filters)

    def invite(self, role: str = "annotator", **terms: Any) -> Json:
        """Create an invitation; its `link` is in this answer only."""
        made: Json = self.post("invitations/", role=role, **terms)
        return made

    def change_role(self, pseudonym: str, role: str) -> Json:
        """Make a member an annotator, a researcher, or, as an owner, a manager or an owner."""
        changed: Json = self.send("PATCH", f"people/{quote_path(pseudonym)}/", role=role)
        return changed

    def suspend(self, pseudonym: str, why: str, *, text: str = "") -> Json:
        """Give an annotator no more HITs; `text` is a message for their desk."""
        act = {"act": "suspend", "why": why, "text": text}
        changed: Json = self.post(f"people/{quote_path(pseudonym)}/standing/", **act)
        return changed

    def restore(self, pseudonym: str, why: str, *, with_work: bool = True) -> Json:
        """Undo a suspension or a removal."""
        act = {"act": "restore", "why": why, "with_work": with_work}
        changed: Json = self.post(f"people/{quote_path(pseudonym)}/standing/", **act)
        return changed

    def plan_removal(self, pseudonym: str, scope: str = "none", **terms: Any) -> Json:
        """Return what a removal would exclude from the results now; the scope is none, since, batch or all."""
        found: Json = self.get(f"people/{quote_path(pseudonym)}/removal/", scope=scope, **terms)
        return found

    def remove(self, pseudonym: str, why: str, scope: str = "none", **terms: Any) -> Json:
        """Remove somebody from the project, and exclude the work that the scope names; return what was excluded."""
        done: Json = self.post(f"people/{quote_path(pseudonym)}/removal/", why=why, scope=scope, **terms)
        return done

    # Qualification test

    def qualification(self) -> Json:
        """Return the settings and the state of the qualification test."""
        return self._read("qualification/")

    def change_qualification(self, **settings: Any) -> Json:
        """Change settings of the qualification test, such as `pass_share=0.8`."""
        changed: Json = self.send("PATCH", "qualification/", **settings)
        return changed

    def qualification_items(self, **filters: Any) -> pd.DataFrame:
        return self.list_rows("qualification/items/", **filters)

    def decide_qualification(self, pseudonym: str, kind: str, why: str) -> Json:
        """Grant somebody the qualification (`granted`), or revoke it (`revoked`)."""
        made: Json = self.post("qualification/decisions/", annotator=pseudonym, kind=kind, why=why)
        return made

    # Pay, in US cents

    def balances(self) -> pd.DataFrame:
        """Return what each annotator has earned, is owed and was paid."""
        return frames.make_frame(self.get("balances/")["results"])

    def add_pay(self, pseudonym: str, cents: int, why: str, *, kind: str = "bonus", key: str = "") -> Json:
        """Add a bonus, or an adjustment. Give a UUID as `key` to repeat a lost request without adding twice."""
        entry = {"annotator": pseudonym, "kind": kind, "cents": cents, "why": why, "key": key or str(uuid4())}
        made: Json = self.post("ledger/", **entry)
        return made

    def payments(self) -> pd.DataFrame:
        return self.list_rows("payments/")

    def record_payment(self, cents: int, *, note: str = "") -> Json:
        """Mark all that is approved as paid. `cents` is the sum that is due; with another one nothing is recorded."""
        made: Json = self.post("payments/", cents=cents, note=note)
        return made

    # Results

    def agreement(self, *, kind: str = "agreement", timeout: float = WAIT_SECONDS, **settings: Any) -> pd.DataFrame:
        """Return Krippendorff's alpha with its intervals: a row for each level, then for each part of the data.

        With `kind="annotators"`, a row for each pair of annotators; with `kind="time"`, for each period.
        """
        return self._make_frame("agreement", kind, timeout, settings)

    def scores(self, *, kind: str = "systems", timeout: float = WAIT_SECONDS, **settings: Any) -> pd.DataFrame:
        """Return the mean of each system with its intervals, or with `kind="golds"` gold scores by every rule."""
        return self._make_frame("scores", kind, timeout, settings)

    def _make_frame(self, name: str, kind: str, timeout: float, settings: Json) -> pd.DataFrame:
        found = self.figures(name, timeout=timeout, kind=kind, **settings)
        _warn(found, stacklevel=4)
        return frames.MAKERS[kind](found)

    def figures(self, name: str, *, timeout: float = WAIT_SECONDS, **settings: Any) -> Json:
        """Return all figures of `agreement` or `scores` as the API has them, over all judgments so far."""
        path = f"{name}/"
        found: Json = self.get(path, **settings)
        watch = _Watch("The figures", timeout)
        is_requested = False
        while not found["is_current"]:
            if found["is_live"]:
                watch.pause()
                found = self.get(path, **settings)
            elif found["state"] and is_requested:
                raise JobFailed(f"The figures could not be computed: the job ended as “{found['state']}”.", job=found)
            else:
                # Whatever ended before this request is no answer to it. Without a state, the job is done, but judgments
                # have arrived while it ran.
                found = self.post(path, **settings)
                is_requested = True
        figures: Json = found["figures"]
        if "refusal" in figures:
            raise ConcordError(figures["refusal"])
        return figures

    def metrics(self, **filters: Any) -> pd.DataFrame:
        return self.list_rows("metrics/", **filters)

    def compute_metric(
        self, metric: str, settings: Mapping[str, Any] | None = None, *, timeout: float = WAIT_SECONDS
    ) -> pd.DataFrame:
        """Compute a metric, and return the score of each candidate."""
        run = self.post("metrics/", metric=metric, settings=dict(settings or {}))
        _warn(self._wait(f"metrics/{run['id']}/", "The metric", timeout))
        return self.metric_scores(run["id"])

    def metric_scores(self, run: int) -> pd.DataFrame:
        return frames.read_csv(self._connection.get_text(self._path(f"metrics/{run}/scores.csv")))

    def studies(self, **filters: Any) -> pd.DataFrame:
        return self.list_rows("studies/", **filters)

    def study(self, number: int) -> Json:
        """Return a metric evaluation with its result and the names of its tables."""
        return self._read(f"studies/{number}/")

    def evaluate(
        self, kind: str, *, metrics: Sequence[str] = (), timeout: float = WAIT_SECONDS, **settings: Any
    ) -> Json:
        """Run a metric evaluation, and return it with its result; without metrics, all that the kind can use."""
        chosen = {"metrics": list(metrics)} if metrics else {}
        made = self.post("studies/", kind=kind, **chosen, **settings)
        return self._wait(f"studies/{made['number']}/", "The evaluation", timeout)

    def repeat_study(self, number: int, *, timeout: float = WAIT_SECONDS) -> Json:
        """Run a metric evaluation again over the current judgments and scores, and return the new one."""
        made = self.post(f"studies/{number}/again/")
        return self._wait(f"studies/{made['number']}/", "The evaluation", timeout)

    def cancel_study(self, number: int) -> Json:
        """Stop a metric evaluation that is still running."""
        cancelled: Json = self.post(f"studies/{number}/cancel/")
        return cancelled

    def delete_study(self, number: int) -> None:
        """Delete a metric evaluation with its result."""
        self.send("DELETE", f"studies/{number}/")

    def study_table(self, number: int, name: str) -> pd.DataFrame:
        """Return a table of a metric evaluation, unrounded."""
        text = self._connection.get_text(self._path(f"studies/{number}/tables/{quote_path(name)}.csv"))
        return frames.read_csv(text)

    # Judgment sets

    def sets(self, **filters: Any) -> pd.DataFrame:
        return self.list_rows("judgment-sets/", **filters)

    def freeze_set(self, name: str, *, timeout: float = WAIT_SECONDS, **settings: Any) -> Json:
        """Freeze a judgment set, and return it with its files. It never changes."""
        made = self.post("judgment-sets/", name=name, **settings)
        return self._wait(f"judgment-sets/{made['number']}/", "The judgment set", timeout)

    def read_set(self, number: int, file: str = "long.csv") -> pd.DataFrame:
        """Return a file of a judgment set, such as long.csv or judgments.parquet, as a frame.

        Warns (RetiredSet), here and below, if the set was retired. Raises ConcordError if the hash isn't the
        frozen one.
        """
        listed = self._read_set(number)["files"] or ()
        if Path(file).suffix not in frames.SUFFIXES:
            raise ValueError(f"{file} is no table. It is in the archive that download_set writes.")
        expected = {str(each["name"]): str(each["sha256"]) for each in listed}.get(file, "")
        with TemporaryDirectory() as folder:
            path = Path(folder) / Path(file).name
            place = self._path(f"judgment-sets/{number}/files/{quote_path(file)}")
            self._connection.download(place, path, sha256=expected)
            return frames.read_file(path)

    def download_set(self, number: int, to: str | Path) -> Path:
        """Write the archive of a judgment set to a file, and return its path.

        Raises ConcordError if the hash isn't the frozen one; then nothing is written. The archive of a retired
        set has a note besides what was frozen, so it isn't compared.
        """
        frozen = self._read_set(number)
        expected = "" if frozen["retired_at"] else str(frozen["sha256"])
        return self._connection.download(self._path(f"judgment-sets/{number}/archive/"), Path(to), sha256=expected)

    def download_tables(self, number: int, to: str | Path) -> SetTables:
        """Download the Parquet tables of a judgment set to a folder, and return them.

        Files that are there with the right hash are kept, and an interrupted download continues where it stopped. The
        note RETIRED.md of a retired set comes with them. Raises ConcordError if the hash isn't the frozen one.
        """
        judgment_set = self._read_set(number)
        listed = list_tables(judgment_set)
        folder = Path(to)
        folder.mkdir(parents=True, exist_ok=True)
        if judgment_set["retired_at"]:
            self._connection.download(self._path(f"judgment-sets/{number}/files/{RETIRED_NOTE}"), folder / RETIRED_NOTE)
        paths = {name: folder / str(file["name"]) for name, file in listed.items()}
        for name, file in listed.items():
            if is_whole(paths[name], file):
                continue
            part = paths[name].with_name(f"{paths[name].name}.part")
            place = self._path(f"judgment-sets/{number}/files/{quote_path(file['name'])}")
            self._connection.download_rest(place, part, file["n_bytes"])
            if not is_whole(part, file):
                part.unlink()
                raise ConcordError(f"{file['name']} {IS_CHANGED}")
            part.replace(paths[name])
        return SetTables(folder, paths)

    def _read_set(self, number: int) -> Json:
        """Return what the site says of a set, and warn of a retired one."""
        found = self._read(f"judgment-sets/{number}/")
        if found["retired_at"]:
            instead = f" Set {found['successor']} replaces it." if found["successor"] else ""
            why = f": {found['retired_why'].rstrip('.')}." if found["retired_why"] else "."
            said = f"Judgment set {number} was retired on {found['retired_at'][:10]}{why}{instead}"
            warnings.warn(said, RetiredSet, stacklevel=3)
        return found

    def _path(self, path: str) -> str:
        return f"projects/{quote_path(self.slug)}/{path}"

    def _read(self, path: str) -> Json:
        found: Json = self.get(path)
        return found

    def _wait(self, path: str, what: str, timeout: float) -> Json:
        """Poll a job until it has ended; raise JobFailed with its error unless it is done."""
        watch = _Watch(what, timeout)
        while (job := self._read(path))["is_live"]:
            watch.pause()
        if job["state"] != "done":
            raise JobFailed(job["error"] or f"{what} ended as “{job['state']}”.", job=job)
        return job


def _warn(found: Mapping[str, Any], *, stacklevel: int = 3) -> None:
    for said in found.get("warnings", ()):
        warnings.warn(said, MisleadingFigures, stacklevel=stacklevel)


class _Watch:
    """Pauses between polls, each longer than the one before, up to an end."""

    def __init__(self, what: str, timeout: float) -> None:
        self.what, self.timeout = what, timeout
        self.until = time.monotonic() + timeout
        self.seconds = FIRST_PAUSE

    def pause(self) -> None:
        """Wait. Raises ConcordError when the time is over; the job continues."""
        if time.monotonic() > self.until:
            raise ConcordError(f"{self.what} is still running after {self.timeout:g} seconds. Read it again later.")
        time.sleep(self.seconds)
        self.seconds = min(2 * self.seconds, LONGEST_PAUSE)
