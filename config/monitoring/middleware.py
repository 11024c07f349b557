"""The middleware that answers /health/live, /health/ready and /metrics, and the one that measures requests."""

import hmac
import time
from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from prometheus_client import CONTENT_TYPE_LATEST

from config.monitoring import prometheus, request_log, request_metrics
from config.monitoring.health import check_health
from projects.database.statement_count import count_statements
from projects.web.body_questions import QUESTION, BodyQuestion

Answer = Callable[[HttpRequest], HttpResponse]


class MonitoringMiddleware:
    """Answer the addresses of monitoring before anything else looks at the request.

    They must work when the database does not, and for a probe that names the site by an internal address instead of one
    of ALLOWED_HOSTS; so they are no routes, use no session and show nothing that belongs to a project.
    """

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = ADDRESSES.get(request.path_info)
        if answer is None:
            return self.get_response(request)
        if request.method not in ("GET", "HEAD"):
            return HttpResponse(status=HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET, HEAD"})
        response = answer(request)
        response.headers["Cache-Control"] = "no-store"
        return response


def show_live(request: HttpRequest) -> HttpResponse:
    """Say that this process answers; it asks nobody else."""
    return JsonResponse({"status": "ok"})


def show_ready(request: HttpRequest) -> HttpResponse:
    """Say whether the site can work, and which checks fail, but no figures: strangers may read it."""
    health = check_health()
    checks = {check.name: "ok" if check.is_ok else "failing" for check in health.checks}
    status = HTTPStatus.OK if health.is_ok else HTTPStatus.SERVICE_UNAVAILABLE
    response = JsonResponse({"status": "ok" if health.is_ok else "failing", "checks": checks}, status=status)
    # The log has one line for each change; Django would add an error for every request until it heals.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response


def show_metrics(request: HttpRequest) -> HttpResponse:
    """Show the metrics to whoever has the token. Without a token in the settings there is no such address."""
    if not settings.METRICS_TOKEN:
        return _say(HTTPStatus.NOT_FOUND, "No metrics: METRICS_TOKEN is not set.")
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    # Compared as bytes: the header may have any characters, and the comparison takes as long for all of them.
    if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), settings.METRICS_TOKEN.encode()):
        return _say(HTTPStatus.FORBIDDEN, "Send the token of METRICS_TOKEN in the header “Authorization: Bearer …”.")
    return HttpResponse(prometheus.render(), content_type=CONTENT_TYPE_LATEST)


def _say(status: HTTPStatus, sentence: str) -> HttpResponse:
    return HttpResponse(f"{sentence}\n", status=status, content_type="text/plain; charset=utf-8")


ADDRESSES: dict[str, Answer] = {
    "/health/live": show_live,
    "/health/ready": show_ready,
    "/healthz": show_live,  # the names that other software gives them
    "/readyz": show_ready,
    "/metrics": show_metrics,
}


class MeasuringMiddleware:
    """Count each request and the seconds to its answer, and write its line into the log."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not (settings.REQUEST_METRICS_DIR or request_log.is_wanted()):
            return self.get_response(request)
        started = time.perf_counter()
        with count_statements() as count:
            response = self.get_response(request)
        seconds = time.perf_counter() - started
        question: BodyQuestion | None = request.META.get(QUESTION)
        if question is not None and question.most_bytes is not None:
            return response  # the request itself follows, with its body
        route = request.resolver_match.view_name if request.resolver_match else "none"
        if settings.REQUEST_METRICS_DIR:
            method = request.method or ""
            request_metrics.record(method=method, status=response.status_code, route=route, seconds=seconds)
        if request_log.is_wanted():
            request_log.write(request, response, route=route, seconds=seconds, n_statements=count.n)
        return response
