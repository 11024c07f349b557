"""The platform: studies, submissions, bonuses, groups and webhooks in memory, and what participants do there."""

import base64
import hashlib
import hmac
import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import orjson

from demo.fake_prolific import request_checks
from demo.fake_prolific.request_checks import BadRequest

FEE = 1 / 3
"""The share of rewards that the platform takes besides."""


@dataclass(frozen=True)
class Event:
    """A message to an address. Headers and body are final, so that it can be sent twice, late or out of order."""

    url: str
    headers: Mapping[str, str]
    body: bytes


class Platform:
    """Prolific, as far as a study needs it. `clock` returns its time; nothing waits."""

    def __init__(self, *, seed: int = 0, clock: Callable[[], datetime] | None = None, currency: str = "GBP") -> None:
        self.clock = clock or (lambda: datetime.now(UTC))
        self.currency = currency
        self.studies: dict[str, dict[str, Any]] = {}
        self.submissions: dict[str, dict[str, Any]] = {}
        self.bonuses: dict[str, dict[str, Any]] = {}
        self.paid: list[tuple[str, int]] = []
        """Every bonus that was paid: id and cents. Paying twice pays twice."""
        self.groups: dict[str, dict[str, Any]] = {}
        self.secrets: dict[str, str] = {}
        self.subscriptions: dict[str, dict[str, Any]] = {}
        self.outbox: list[Event] = []
        """Messages that are not sent yet."""
        self.approving: list[str] = []
        """Submissions of bulk approvals, which `settle` carries out."""
        self.lock = threading.RLock()
        self.random = random.Random(seed)  # noqa: S311 - no secret
        self.workspace = self.draw_id()
        self.user = self.draw_id()

    # What participants do

    def reserve(self, study_id: str, participant: str) -> str:
        """Reserve a place for a participant; return the id of the submission. Raises BadRequest if there is none."""
        with self.lock:
            study = self.find_study(study_id)
            if study["status"] != "ACTIVE" or self.count_free(study) < 1:
                raise BadRequest("This study has no places left.")
            row: dict[str, Any] = {
                "id": self.draw_id(),
                "study_id": study_id,
                "participant": participant,
                "status": "RESERVED",
                "started_at": self.clock().isoformat(),
                "completed_at": None,
                "entered_code": None,
                "bonus_payments": [],
                "is_complete": False,
            }
            self.submissions[row["id"]] = row
            self._announce_submission(row)
            return str(row["id"])

    def start(self, pk: str) -> str:
        """Begin a submission; return the address to open, with the ids filled in."""
        with self.lock:
            row = self.find_submission(pk)
            self.change_status(row, "ACTIVE")
            url: str = self.find_study(row["study_id"])["external_study_url"]
            values = {"PROLIFIC_PID": row["participant"], "STUDY_ID": row["study_id"], "SESSION_ID": row["id"]}
            for name, value in values.items():
                url = url.replace(f"{{{{%{name}%}}}}", quote(value, safe=""))
            return url

    def complete(self, pk: str, code: str | None) -> None:
        """Submit with a code, a wrong one or none; what the study says of the code is done."""
        with self.lock:
            row = self.find_submission(pk)
            known = {each["code"]: each for each in self.find_study(row["study_id"])["completion_codes"]}
            actions = [each["action"] for each in known.get(code or "", {}).get("actions", ())]
            row["entered_code"] = code or "NOCODE"
            row["completed_at"], row["is_complete"] = self.clock().isoformat(), True
            if "REQUEST_RETURN" in actions:
                self.change_status(row, "RETURNED")
                return
            self.change_status(row, "AWAITING REVIEW")
            if "AUTOMATICALLY_APPROVE" in actions:
                self.change_status(row, "APPROVED")

    def give_back(self, pk: str) -> None:
        """Return a submission, be it finished or not."""
        with self.lock:
            self.change_status(self.find_submission(pk), "RETURNED")

    def approve(self, pk: str) -> None:
        """Approve a submission on the platform's own site."""
        with self.lock:
            self.change_status(self.find_submission(pk), "APPROVED")

    def time_out(self, pk: str) -> None:
        with self.lock:
            self.change_status(self.find_submission(pk), "TIMED-OUT")

    def settle(self) -> None:
        """Carry out bulk approvals; those that are not awaiting review are passed over without a word."""
        with self.lock:
            for pk in self.approving:
                row = self.submissions[pk]
                if "APPROVED" in request_checks.SUBMISSION_MOVES[row["status"]] and row["status"] != "REJECTED":
                    self.change_status(row, "APPROVED")
            self.approving = []

    def draw_participant(self) -> str:
        return self.draw_id()

    def renew_secret(self) -> str:
        """Replace the secret that signs messages; the one before signs nothing any more."""
        self.secrets[self.workspace] = base64.urlsafe_b64encode(self.random.randbytes(32)).decode()
        return self.secrets[self.workspace]

    def sign(self, timestamp: str, body: bytes) -> str:
        key = self.secrets.get(self.workspace, "").encode()
        return base64.b64encode(hmac.new(key, timestamp.encode() + body, hashlib.sha256).digest()).decode()

    # Within

    def _announce(self, event_type: str, body: Mapping[str, Any]) -> None:
        raw = orjson.dumps({"event_type": event_type, **body})
        stamp = str(int(self.clock().timestamp()))
        for each in self.subscriptions.values():
            if each["is_enabled"] and each["event_type"] == event_type:
                headers = {
                    "Content-Type": "application/json",
                    "X-Event-ID": self.draw_id(),
                    "X-Timestamp": stamp,
                    "X-Prolific-Request-Timestamp": stamp,
                    "X-Prolific-Request-Signature": self.sign(stamp, raw),
                }
                self.outbox.append(Event(each["target_url"], headers, raw))

    def _announce_submission(self, row: Mapping[str, Any]) -> None:
        body = {"resource_id": row["id"], "participant_id": row["participant"], "status": row["status"]}
        self._announce("submission.status.change", body)

    def change_status(self, row: dict[str, Any], status: str) -> None:
        if status not in request_checks.SUBMISSION_MOVES[row["status"]]:
            raise BadRequest(f"A submission that is {row['status']} can’t become {status}.")
        row["status"] = status
        self._announce_submission(row)
        study = self.find_study(row["study_id"])
        mine = [each["status"] for each in self.submissions.values() if each["study_id"] == study["id"]]
        if study["status"] == "ACTIVE" and self.count_free(study) == 0 and not {"RESERVED", "ACTIVE"} & set(mine):
            self.change_study_status(study, "AWAITING REVIEW")
        elif study["status"] == "AWAITING REVIEW" and self.count_free(study) > 0 and status in ("RETURNED", "REJECTED"):
            self.change_study_status(study, "ACTIVE")

    def change_study_status(self, study: dict[str, Any], status: str) -> None:
        study["status"] = status
        self._announce("study.status.change", {"resource_id": study["id"], "status": status, "metadata": {}})

    def count_free(self, study: Mapping[str, Any]) -> int:
        mine = [each for each in self.submissions.values() if each["study_id"] == study["id"]]
        return int(study["total_available_places"]) - sum(each["status"] in request_checks.OCCUPYING for each in mine)

    def show_study(self, study: Mapping[str, Any]) -> dict[str, Any]:
        mine = [each for each in self.submissions.values() if each["study_id"] == study["id"]]
        taken = sum(each["status"] in request_checks.OCCUPYING for each in mine)
        return {**study, "places_taken": taken, "number_of_submissions": len(mine)}

    def find_study(self, pk: str) -> dict[str, Any]:
        if pk not in self.studies:
            raise BadRequest("Not found.", 404)
        return self.studies[pk]

    def find_submission(self, pk: str) -> dict[str, Any]:
        if pk not in self.submissions:
            raise BadRequest("Not found.", 404)
        return self.submissions[pk]

    def draw_id(self) -> str:
        return self.random.randbytes(12).hex()
