"""Every route of the API, over one platform, with faults to order."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode

import orjson

from demo.fake_prolific import request_checks
from demo.fake_prolific.platform import FEE, Platform
from demo.fake_prolific.request_checks import BadRequest

TOKEN = "rehearsal"  # noqa: S105
PAGE_SIZE = 20
EVENT_TYPES = ("submission.status.change", "study.status.change")
Handler = Callable[..., Any]
_ROUTES: list[tuple[str, re.Pattern[str], str]] = []


@dataclass
class Fault:
    """What goes wrong with the next `n` calls that it fits: one of KINDS.

    `slow` waits for `seconds` before the answer; `lost` does what is asked and closes the connection without an answer;
    `dropped` closes it and does nothing; `field removed` leaves `value` out of all objects in the answer.
    """

    KINDS = ("429", "500", "slow", "lost", "dropped", "field removed")

    kind: str
    method: str = "GET|POST|PATCH|DELETE"
    path: str = ".*"
    n: int = 1
    value: str = ""
    seconds: float = 0.0


@dataclass
class Reply:
    """An answer; `is_lost` if the connection is closed instead."""

    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)
    is_lost: bool = False
    seconds: float = 0.0


def route(method: str, pattern: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        _ROUTES.append((method, re.compile(pattern.replace("ID", r"([0-9a-f]{24})")), handler.__name__))
        return handler

    return register


class Api:
    """The API of a platform."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.url = ""
        """Where it is served, for links to further pages."""
        self.faults: list[Fault] = []
        self.calls: list[tuple[str, str]] = []
        """Every call, as method and path."""

    def handle(self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Answer a call."""
        with self.platform.lock:
            self.calls.append((method, path))
            fault = self._take_fault(method, path)
            date = {"Date": format_datetime(self.platform.clock().astimezone(UTC), usegmt=True)}
            if fault is not None and fault.kind == "429":
                return Reply(429, {"error": {"status": 429}}, {**date, "Retry-After": fault.value or "1"})
            if fault is not None and fault.kind == "500":
                return Reply(500, {"error": {"status": 500, "detail": "Internal error"}}, date)
            if fault is not None and fault.kind == "dropped":
                return Reply(500, None, is_lost=True)
            reply = self._answer(method, path, query, headers, body)
            reply.headers |= date
            if fault is not None:
                reply.is_lost, reply.seconds = fault.kind == "lost", fault.seconds
                if fault.kind == "field removed":
                    reply.body = _remove(reply.body, fault.value)
            return reply

    def _answer(self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes) -> Reply:
        if headers.get("Authorization") != f"Token {TOKEN}":
            return Reply(401, {"error": {"status": 401, "detail": "Authentication credentials were not provided."}})
        try:
            sent = orjson.loads(body) if body else {}
            for known, pattern, name in _ROUTES:
                if known == method and (found := pattern.fullmatch(path)) is not None:
                    answer = getattr(self, name)(*found.groups(), sent=sent, query=dict(parse_qsl(query)))
                    return answer if isinstance(answer, Reply) else Reply(200, answer)
        except BadRequest as error:
            shown = {"status": error.status, "error_code": 140000, "detail": error.detail}
            return Reply(error.status, {"error": shown})
        except orjson.JSONDecodeError:
            return Reply(400, {"error": {"status": 400, "detail": "JSON parse error"}})
        return Reply(404, {"error": {"status": 404, "detail": "Not found."}})

    # Users and studies

    @route("GET", "/api/v1/users/me/")
    def show_user(self, **_: Any) -> Any:
        return {"id": self.platform.user, "email": "researcher@example.org", "currency_code": self.platform.currency}

    @route("GET", "/api/v1/workspaces/")
    def list_workspaces(self, query: Mapping[str, str], **_: Any) -> Any:
        return self._page("/api/v1/workspaces/", [{"id": self.platform.workspace, "title": "Rehearsal"}], query)

    @route("POST", "/api/v1/study-cost-calculator/")
    def calculate_cost(self, sent: Mapping[str, Any], **_: Any) -> Any:
        if not {"reward", "total_available_places"} <= sent.keys():
            raise BadRequest({"reward": ["This field is required."]})
        return {"total_cost": round(sent["reward"] * sent["total_available_places"] * (1 + FEE))}

    @route("GET", "/api/v1/studies/")
    def list_studies(self, query: Mapping[str, str], **_: Any) -> Any:
        names = ("id", "name", "internal_name", "status", "total_available_places", "reward")
        rows = [{name: study.get(name) for name in names} for study in self.platform.studies.values()]
        return self._page("/api/v1/studies/", rows, query)

    @route("POST", "/api/v1/studies/")
    def create_study(self, sent: dict[str, Any], **_: Any) -> Any:
        request_checks.check_study(sent, is_whole=True)
        study = {
            **sent,
            "id": self.platform.draw_id(),
            "status": "UNPUBLISHED",
            "currency_code": self.platform.currency,
        }
        study.setdefault("maximum_allowed_time", 2 + study["estimated_completion_time"] * 3)
        self.platform.studies[study["id"]] = study
        return Reply(201, self.platform.show_study(study))

    @route("GET", "/api/v1/studies/ID/")
    def show_study(self, pk: str, **_: Any) -> Any:
        return self.platform.show_study(self.platform.find_study(pk))

    @route("PATCH", "/api/v1/studies/ID/")
    def change_study(self, pk: str, sent: dict[str, Any], **_: Any) -> Any:
        study = self.platform.find_study(pk)
        request_checks.check_study(sent, is_whole=False)
        if study["status"] != "UNPUBLISHED":
            if sent.keys() - {"internal_name", "total_available_places"}:
                raise BadRequest("Only the places of a published study can change.")
            if sent.get("total_available_places", study["total_available_places"]) < study["total_available_places"]:
                raise BadRequest({"total_available_places": ["The number of places can only be increased."]})
        study.update(sent)
        if study["status"] == "AWAITING REVIEW" and self.platform.count_free(study) > 0:
            self.platform.change_study_status(study, "ACTIVE")
        return self.platform.show_study(study)

    @route("POST", "/api/v1/studies/ID/transition/")
    def move_study(self, pk: str, sent: Mapping[str, Any], **_: Any) -> Any:
        study = self.platform.find_study(pk)
        move = request_checks.STUDY_MOVES.get(str(sent.get("action")))
        if move is None or study["status"] not in move[0]:
            raise BadRequest(f"A study that is {study['status']} can’t {sent.get('action')}.")
        if sent["action"] == "PUBLISH":
            request_checks.check_publishable(study)
        self.platform.change_study_status(study, move[1])
        return self.platform.show_study(study)

    @route("GET", "/api/v1/studies/ID/submissions/")
    def list_study_submissions(self, pk: str, query: Mapping[str, str], **_: Any) -> Any:
        self.platform.find_study(pk)
        rows = [
            {
                **{k: v for k, v in each.items() if k not in ("participant", "study_code")},
                "participant_id": each["participant"],
            }
            for each in self.platform.submissions.values()
            if each["study_id"] == pk
        ]
        return self._page(f"/api/v1/studies/{pk}/submissions/", rows, query)

    # Submissions

    @route("GET", "/api/v1/submissions/ID/")
    def show_submission(self, pk: str, **_: Any) -> Any:
        return self.platform.find_submission(pk)

    @route("POST", "/api/v1/submissions/ID/transition/")
    def move_submission(self, pk: str, sent: Mapping[str, Any], **_: Any) -> Any:
        row = self.platform.find_submission(pk)
        wanted = {"APPROVE": "APPROVED", "REJECT": "REJECTED"}.get(str(sent.get("action")))
        if wanted is None:
            raise BadRequest({"action": ["Not a valid choice."]})
        if wanted == "REJECTED":
            request_checks.check_rejection(sent)
        if row["status"] != wanted:  # doing it again changes nothing
            if wanted not in request_checks.SUBMISSION_MOVES[row["status"]]:
                raise BadRequest(f"A submission that is {row['status']} can’t become {wanted}.")
            self.platform.change_status(row, wanted)
        return row

    @route("POST", "/api/v1/submissions/bulk-approve/")
    def approve_all(self, sent: Mapping[str, Any], **_: Any) -> Any:
        ids = sent.get("submission_ids")
        if not isinstance(ids, list) or not 1 <= len(ids) <= request_checks.MOST_APPROVALS:
            raise BadRequest({"submission_ids": [f"1 to {request_checks.MOST_APPROVALS} ids."]})
        self.platform.approving += [self.platform.find_submission(pk)["id"] for pk in ids]
        return "The request to bulk approve has been made successfully."

    # Bonuses

    @route("POST", "/api/v1/submissions/bonus-payments/")
    def set_up_bonuses(self, sent: Mapping[str, Any], **_: Any) -> Any:
        study = self.platform.find_study(str(sent.get("study_id")))
        lines = request_checks.read_bonuses(sent.get("csv_bonuses"))
        took_part = {
            pk
            for each in self.platform.submissions.values()
            if each["study_id"] == study["id"]
            for pk in (each["id"], each["participant"])
        }
        if lines.keys() - took_part:
            raise BadRequest(f"These took no part: {sorted(lines.keys() - took_part)}.")
        amount = sum(lines.values())
        made = {"id": self.platform.draw_id(), "study": study["id"], "lines": lines, "n_paid": 0}
        self.platform.bonuses[made["id"]] = made
        fees = round(amount * FEE)
        return {
            "id": made["id"],
            "study": study["id"],
            "amount": amount,
            "fees": fees,
            "vat": 0,
            "total_amount": amount + fees,
        }

    @route("POST", "/api/v1/bulk-bonus-payments/ID/pay/")
    def pay_bonuses(self, pk: str, **_: Any) -> Any:
        if pk not in self.platform.bonuses:
            raise BadRequest("Not found.", 404)
        self.platform.bonuses[pk]["n_paid"] += 1
        self.platform.paid += self.platform.bonuses[pk]["lines"].items()
        return Reply(202, f"Bulk bonus payment with ID {pk} is being processed asynchronously.")

    # Participant groups

    @route("POST", "/api/v1/participant-groups/")
    def create_group(self, sent: Mapping[str, Any], **_: Any) -> Any:
        if not sent.get("name") or not (sent.get("workspace_id") or sent.get("project_id")):
            raise BadRequest({"name": ["This field is required, and a workspace_id or project_id."]})
        group = {
            "id": self.platform.draw_id(),
            "name": sent["name"],
            "participants": set(sent.get("participant_ids", ())),
        }
        self.platform.groups[group["id"]] = group
        return Reply(201, {"id": group["id"], "name": group["name"], "participant_count": len(group["participants"])})

    @route("POST", "/api/v1/participant-groups/ID/participants/")
    def add_to_group(self, pk: str, sent: Mapping[str, Any], **_: Any) -> Any:
        if pk not in self.platform.groups:
            raise BadRequest("Not found.", 404)
        self.platform.groups[pk]["participants"] |= set(sent["participant_ids"])
        return {"results": [{"participant_id": each} for each in sorted(self.platform.groups[pk]["participants"])]}

    # Webhooks

    @route("POST", "/api/v1/hooks/secrets/")
    def create_secret(self, sent: Mapping[str, Any], **_: Any) -> Any:
        if sent.get("workspace_id") != self.platform.workspace:
            raise BadRequest({"workspace_id": ["Unknown workspace."]})
        value = self.platform.renew_secret()
        return Reply(201, {"id": self.platform.draw_id(), "value": value, "workspace_id": self.platform.workspace})

    @route("POST", "/api/v1/hooks/subscriptions/")
    def subscribe(self, sent: Mapping[str, Any], **_: Any) -> Any:
        if sent.get("event_type") not in EVENT_TYPES or not sent.get("target_url"):
            raise BadRequest({"event_type": ["Not a valid choice, or no target_url."]})
        made = {**sent, "id": self.platform.draw_id(), "is_enabled": False, "confirmation": self.platform.draw_id()}
        self.platform.subscriptions[made["id"]] = made
        shown = {k: v for k, v in made.items() if k != "confirmation"}
        return Reply(201, shown, {"X-Hook-Secret": made["confirmation"]})

    @route("POST", "/api/v1/hooks/subscriptions/ID/")
    def confirm_subscription(self, pk: str, sent: Mapping[str, Any], **_: Any) -> Any:
        found = self.platform.subscriptions.get(pk)
        if found is None or sent.get("secret") != found["confirmation"]:
            raise BadRequest("The secret is wrong.")
        found["is_enabled"] = True
        return {k: v for k, v in found.items() if k != "confirmation"}

    def _page(self, path: str, rows: list[dict[str, Any]], query: Mapping[str, str]) -> Any:
        """A page of a list; past its end there is none."""
        size, number = min(int(query.get("page_size", PAGE_SIZE)), 100), int(query.get("page", 1))
        n_pages = max(1, -(-len(rows) // size))
        if not 1 <= number <= n_pages:
            raise BadRequest("Invalid page.", 404)
        following = f"{self.url}{path}?{urlencode({**query, 'page': number + 1})}" if number < n_pages else None
        return {
            "results": rows[(number - 1) * size : number * size],
            "_links": {"self": {"href": f"{self.url}{path}"}, "next": {"href": following, "title": "Next"}},
            "meta": {"count": len(rows)},
        }

    def _take_fault(self, method: str, path: str) -> Fault | None:
        for fault in self.faults:
            if re.fullmatch(fault.method, method) and re.search(fault.path, path):
                fault.n -= 1
                if fault.n < 1:
                    self.faults.remove(fault)
                return fault
        return None


def _remove(body: Any, name: str) -> Any:
    """Leave a field out of all objects."""
    if isinstance(body, dict):
        return {key: _remove(value, name) for key, value in body.items() if key != name}
    return [_remove(each, name) for each in body] if isinstance(body, list) else body
