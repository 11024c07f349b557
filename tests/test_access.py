"""The walk over every route: each declares a policy, and holds to it for everybody and every method."""

import logging
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, reset_queries, transaction
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import DjangoDbBlocker

from projects.access import Policy, Right
from projects.database.prepared import run
from projects.models import Membership, Pulse, User
from tests.access_world import ROUTES, Role, Standing, World, make_world
from tests.routes import Route, all_routes
from tests.visiting import SAFE, find_holder, send, undone

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
IN_SOAK = int(os.environ.get("SCALE", "1")) > 1
LEAST_CASES = 3_000
COUNTS_A_TOKENS_USE = "UPDATE projects_apitoken"

FREE = {"name", "form", "token", "uidb64"}
"""Parameters of paths that take more than a number, an address or an id."""
LURES = (
    "..",
    "../../../../../../etc/passwd",
    "..%2f..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f%2e%2e%2fconfig%2fsettings.py",
    "..%5c..%5csettings.py",
    "%2fetc%2fpasswd",
    "....//....//etc/passwd",
    "long.csv%00.png",
    "%252e%252e%252fetc%252fpasswd",
)

VALUES = re.compile(r"'[^']*'|\b\d+(\.\d+)?\b|s\d+_x\d+")
"""Values of a statement, and names of savepoints."""
CHANGING = re.compile(r"\b(INSERT INTO|UPDATE \S+( AS)?( \w+)? SET|DELETE FROM|TRUNCATE|MERGE INTO)\b")
PREPARED: dict[str, str] = {}
"""The statements that this process's connection has prepared, by their names."""
N_TIMED = 10
MOST_DIFFERENCE = 0.2

ADMIN_ROUTES = [route for route in all_routes() if route.is_admin]
OF_A_PROJECT = [route for route in ROUTES if len(route.parameters) > 1 and route.policy and route.policy.right]

READERS = ("researcher", "manager", "owner", "manager of another project", "superuser")
"""Who sees more of a project, be it another one, than an annotator does."""

# What a member with the whole right gets on a GET; other than a page (200) or a way on (302, 303).
OTHER_ANSWERS: dict[str, set[int]] = {
    "projects:single-sign-on-callback": {404},  # where no provider is configured
    "annotate:history-show": {200, 302, 303, 404},  # everybody's own HITs alone
    "annotate:panel-arrival": {204, 400, 409},  # without the platform's ids; or with an account of one's own
    "annotate:panel-session": {404},  # of participants alone
    "annotate:qualification-file-skipped": {404},  # without the token of a file of one's own
    "results:leaderboard-chart": {404},  # of figures that a job has not computed yet
    "results:leaderboard-table": {404},
    "results:planner-table": {404},  # of too few judgments for a plan
    "results:replication-chart": {404},  # of which two batches, the query says
    "results:replication-table": {404},
    "results:study-compare-table": {404},  # of which two evaluations, the query says
}


@pytest.fixture(scope="module", autouse=True)
def _no_log_of_refusals() -> Iterator[None]:
    """Thousands of answers here are refusals, each a warning that no test reads; errors are still logged."""
    logger = logging.getLogger("django.request")
    level = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(level)


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    """One world for the whole walk, in a transaction that is thrown away at the end."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield replace(make_world(), savepoint=transaction.savepoint())
        transaction.set_rollback(True)


def allowed_methods(world: World, route: Route, path: str) -> set[str]:
    assert route.policy is not None
    response = send(world, find_holder(route.policy), "OPTIONS", path, route)
    assert response.status_code == 405, f"{route.name} does not say which methods it takes."
    return {method.strip() for method in response["Allow"].split(",")}


def expected(policy: Policy, who: str, method: str, allowed: set[str], world: World) -> set[int] | str:
    """The status, or "served" where the view itself has the word."""
    if policy.name != "public" and who == "anonymous":
        return {401} if policy.answers_json else {302}
    if who in ("revoked token", "expired token"):
        return {401}
    if policy.name == "reads projects" and who not in READERS:
        return {403}
    if policy.name == "creates projects":
        return {403} if who != "owner" else "served" if method in allowed else {405}
    right = policy.right_for(method)
    if right is not None:
        refused = refusal(right, world.memberships[who])
        if refused is not None:
            return {refused}
    if who == "token that reads" and method not in (*SAFE, "OPTIONS") and not policy.only_recomputes:
        return {403}
    return "served" if method in allowed else {405}


def refusal(right: Right, membership: Membership | None) -> int | None:
    """The table of who may do what, written down a second time: the walk must not trust what it tests."""
    if membership is None or membership.project.slug != "ours":
        return 404
    if right is Right.HISTORY:
        return None
    if membership.standing == Standing.REMOVED:
        return 403
    if right is Right.MEMBER:
        return None
    if membership.standing == Standing.SUSPENDED:
        return 403
    holders = {
        Right.WORK: {Role.ANNOTATOR},
        Right.READ: {Role.RESEARCHER, Role.MANAGER, Role.OWNER},
        Right.MANAGE: {Role.MANAGER, Role.OWNER},
        Right.OWN: {Role.OWNER},
    }
    return None if membership.role in holders[right] else 403


def list_methods(allowed: set[str], turn: int) -> list[str]:
    """Return the methods that an identity tries on a route: all in a soak.

    Otherwise everybody tries those that the route takes, and in turn one of the others and of HEAD, which is answered
    as GET is.
    """
    sure = [method for method in METHODS if method == "OPTIONS" or method in allowed - {"HEAD"}]
    others = [method for method in METHODS if method not in sure]
    return list(METHODS) if IN_SOAK else [*sure, others[turn % len(others)]]


def is_served(status: int, method: str, route: Route) -> bool:
    if method in SAFE:
        return status in OTHER_ANSWERS.get(route.name, {200, 302, 303})
    return status < 500 and status != 405


def captured() -> CaptureQueriesContext:
    """Capture the statements of one request, without those of all before it."""
    reset_queries()
    return CaptureQueriesContext(connection)


def faulty_headers(response: Any) -> Iterator[str]:
    """What lets another site frame an answer, or a browser guess what it is or say where its links were followed."""
    policy = response.get("Content-Security-Policy", "")
    if response.get("X-Frame-Options") != "DENY":
        yield "another site may frame it"
    if response.get("X-Content-Type-Options") != "nosniff":
        yield "the browser may guess its type"
    if response.get("Referrer-Policy") not in {"same-origin", "strict-origin", "no-referrer"}:
        yield "it may tell other sites its address"
    if response.get("Content-Type", "").startswith("text/html") and not {
        "default-src 'none'",
        "frame-ancestors 'none'",
        "object-src 'none'",
        "base-uri 'none'",
    } <= {directive.strip() for directive in policy.split(";")}:
        yield f"its content security policy is “{policy}”"


def test_every_route_declares_a_policy() -> None:
    undeclared = [route.name for route in all_routes() if route.policy is None]
    assert undeclared == [], "These views declare no policy: put a decorator of projects.access on them."


def test_the_walk_sees_a_view_without_a_policy() -> None:
    assert Route("x", "/x/", lambda request: HttpResponse(), ()).policy is None


def test_a_new_parameter_needs_a_sample() -> None:
    with pytest.raises(LookupError, match="without a sample value"):
        Route("x:new", "/p/<int:colour>/", lambda request: HttpResponse(), (), ("colour",)).fill({})


def test_the_walk_sees_a_write_by_a_prepared_statement_and_within_a_select(world: World) -> None:
    with CaptureQueriesContext(connection) as queries, undone(world), connection.cursor() as cursor:
        run("UPDATE projects_user SET first_name = %(name)s WHERE false", {"name": "Ada"})
        cursor.execute(
            "WITH gone AS (DELETE FROM projects_user u WHERE false RETURNING u.id) SELECT count(*) FROM gone"
        )
        cursor.execute("SELECT id FROM projects_user WHERE first_name = 'DELETE FROM x' FOR UPDATE SKIP LOCKED")
    assert [each.partition(" ")[0] for each in writes(queries)] == ["UPDATE", "WITH"]


def test_the_walk_is_long_enough() -> None:
    identities = 10
    least = len(list_methods({"GET", "HEAD"}, 0))
    assert len(ROUTES) * identities * least >= LEAST_CASES


def test_every_method_is_tried_on_every_route() -> None:
    for allowed in ({"GET", "HEAD"}, {"POST"}, {"GET", "HEAD", "POST"}, {"GET", "HEAD", "POST", "PATCH"}):
        assert {method for turn in range(10) for method in list_methods(allowed, turn)} == set(METHODS)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_each_route_holds_to_its_policy(route: Route, world: World) -> None:
    path, policy = route.fill(world.samples), route.policy
    assert policy is not None
    allowed = allowed_methods(world, route, path)
    wrong = []
    for turn, who in enumerate(("anonymous", *world.sessions, *(world.tokens if route.is_api else ()))):
        for method in list_methods(allowed, turn):
            wanted = expected(policy, who, method, allowed, world)
            with captured() as queries:
                response = send(world, who, method, path, route)
            status = response.status_code
            right = is_served(status, method, route) if wanted == "served" else status in wanted
            if not right:
                wrong.append(f"{method} as {who}: {status} instead of {wanted}")
            if status == 302 and policy.name != "public" and who == "anonymous":
                assert response["Location"].startswith(reverse("projects:sign-in"))
            wrong += [f"{method} as {who}: {fault}" for fault in faulty_headers(response)]
            if method in (*SAFE, "OPTIONS") and (written := writes(queries)):
                wrong.append(f"{method} as {who} writes: {written[0][:200]}")
    assert wrong == []


@pytest.mark.parametrize("route", OF_A_PROJECT, ids=lambda route: route.name)
def test_what_belongs_to_another_project_is_not_there(route: Route, world: World) -> None:
    """A foreign id and one that does not exist at all answer alike: the same bytes, after the same statements.

    The statements stand for the time that an answer takes, which on a busy machine says nothing.
    """
    for method, _name, who, paths in list_strange(route, world):
        pages, asked = [], []
        for path in paths:
            with captured() as queries:
                response = send(world, who, method, path, route)
            assert response.status_code == 404, f"{method} {path}"
            pages.append(response.content.replace(response["X-Request-ID"].encode(), b"an id of its own"))
            asked.append([VALUES.sub("?", query["sql"]) for query in queries.captured_queries])
        assert pages[0] == pages[1]
        if asked[0] != asked[1]:
            # The first request of a connection prepares statements; the second finds them.
            with captured() as queries:
                send(world, who, method, paths[0], route)
            asked[0] = [VALUES.sub("?", query["sql"]) for query in queries.captured_queries]
        assert asked[0] == asked[1], f"{method} {paths}"


@pytest.mark.drill
def test_what_belongs_to_another_project_takes_as_long_as_what_is_not_there(world: World) -> None:
    """The median over all routes of how long a foreign id takes, to an id that does not exist, within 20 %."""
    ratios = []
    for route in OF_A_PROJECT:
        for method, _name, who, paths in list_strange(route, world):
            times: tuple[list[float], list[float]] = ([], [])
            for _ in range(N_TIMED):
                for path, seconds in zip(paths, times, strict=True):
                    begun = perf_counter()
                    send(world, who, method, path, route)
                    seconds.append(perf_counter() - begun)
            ratios.append(median(times[0]) / median(times[1]))
    low, middle, high = quantiles(ratios, n=4)
    print(f"{len(ratios)} pairs of addresses: median ratio {middle:.3f}, quartiles {low:.3f} and {high:.3f}")
    assert abs(middle - 1) <= MOST_DIFFERENCE


def list_strange(route: Route, world: World) -> Iterator[tuple[str, str, str, tuple[str, str]]]:
    """Each method and parameter of a route, who may ask, and the addresses with a foreign id and an unused one."""
    assert route.policy is not None
    methods = allowed_methods(world, route, route.fill(world.samples)) - {"HEAD", "OPTIONS"}
    for name in route.parameters:
        if name == "slug":
            continue
        key = f"{route.name} {name}"
        strange = world.foreign.get(key, world.foreign.get(name))
        assert strange != world.samples.get(key, world.samples.get(name)), f"{name} is no foreign value"
        paths = tuple(route.fill({**world.samples, key: value}) for value in (strange, world.missing[name]))
        for method in sorted(methods):
            yield method, name, find_holder(route.policy), (paths[0], paths[1])


@pytest.mark.parametrize("route", [route for route in ROUTES if FREE & set(route.parameters)], ids=lambda r: r.name)
def test_no_name_in_an_address_leads_to_a_file(route: Route, world: World) -> None:
    """Files that are kept, and those of the system, are opened by what the database says of them alone."""
    holder = find_holder(route.policy) if route.policy else "owner"
    for name in sorted(FREE & set(route.parameters)):
        for lure in LURES:
            path = route.fill({**world.samples, name: lure, f"{route.name} {name}": lure})
            response = send(world, holder, "GET", path, route)
            assert response.status_code in {400, 404, 410}, path
            assert b"root:" not in response.content
            assert b"SECRET_KEY" not in response.content


def test_no_path_leads_out_of_the_static_files(world: World) -> None:
    public = next(route for route in ROUTES if route.policy and route.policy.name == "public")
    for lure in LURES:
        assert send(world, "anonymous", "GET", f"/static/{lure}", public).status_code in {400, 404}, lure


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_nothing_unsafe_goes_without_a_csrf_token(route: Route, world: World) -> None:
    assert route.policy is not None
    path = route.fill(world.samples)
    for method in allowed_methods(world, route, path) - {"GET", "HEAD", "OPTIONS"}:
        assert send(world, find_holder(route.policy), method, path, route, csrf=True).status_code == 403


def test_reading_every_page_leaves_the_database_as_it_was(world: World) -> None:
    before = fingerprint()
    for route in ROUTES:
        assert route.policy is not None
        client = Client()
        client.cookies["session"] = world.sessions[find_holder(route.policy)]
        response = client.get(route.fill(world.samples))
        if getattr(response, "streaming", False):
            list(response)
    assert fingerprint() == before


@pytest.mark.parametrize("route", ADMIN_ROUTES, ids=lambda route: route.name)
def test_the_admin_is_there_for_staff_alone(route: Route, world: World) -> None:
    samples = {"object_id": world.users["owner"].pk, "app_label": "projects", "content_type_id": 1, "url": "x"}
    path = route.fill(samples)
    assert send(world, "anonymous", "GET", path, route).status_code == 302
    for who in world.sessions:
        status = send(world, who, "GET", path, route).status_code
        assert status < 500 if who == "superuser" else status == 404, f"{who}: {status}"


@pytest.mark.parametrize("name", ["add", "change", "delete"])
def test_the_admin_changes_nothing(name: str, world: World) -> None:
    before = Counter(
        {model._meta.label: model._default_manager.count() for model in apps.get_app_config("projects").get_models()}
    )
    client = Client()
    client.cookies["session"] = world.sessions["superuser"]
    for model in apps.get_app_config("projects").get_models():
        url_name = f"admin:projects_{model._meta.model_name}_{name}"
        if not any(route.name == url_name for route in ADMIN_ROUTES):
            continue
        row = model._default_manager.first()
        arguments = [] if name == "add" else [row.pk if row else 1]
        data = {"username": "mallory", "is_superuser": "on", "post": "yes"}
        with transaction.atomic():
            assert client.post(reverse(url_name, args=arguments), data).status_code in {302, 403, 404}, url_name
    after = Counter(
        {model._meta.label: model._default_manager.count() for model in apps.get_app_config("projects").get_models()}
    )
    assert after == before
    assert not User.objects.filter(username="mallory").exists()


def writes(queries: CaptureQueriesContext) -> list[str]:
    """The statements that change rows; what only opens or undoes the test's own savepoints does not."""
    statements = [spell_out(query["sql"]) for query in queries.captured_queries]
    changing = [each for each in statements if CHANGING.search(each) and CHANGING.search(VALUES.sub("?", each))]
    return [each for each in changing if not each.startswith(COUNTS_A_TOKENS_USE)]


def spell_out(sql: str) -> str:
    """Return a statement, also where it was sent as the name of a prepared one, without brackets around it."""
    if sql.startswith("EXECUTE "):
        name = sql.split(maxsplit=2)[1]
        if name not in PREPARED:
            with connection.cursor() as cursor:
                cursor.execute("SELECT name, statement FROM pg_prepared_statements")
                PREPARED.update((each, statement.partition(" AS ")[2]) for each, statement in cursor.fetchall())
        sql = PREPARED[name]
    return sql.lstrip("( \n")


def fingerprint() -> dict[str, str]:
    found = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if table == Pulse._meta.db_table:
                continue  # a worker that another test has started beats on
            name = connection.ops.quote_name(table)
            cursor.execute(f"SELECT md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM {name} t")
            found[table] = cursor.fetchone()[0]
    return found
