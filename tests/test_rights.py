"""Which right each route asks for, written down a second time: the walk over all routes takes what a view declares.

Pages of a project are for managers, those of results for researchers, and the API is read by researchers and written by
managers. Every route that differs is listed here, so that a new one which asks for less is noticed.
"""

from projects.access import Right
from tests.routes import Route, all_routes

READ, MANAGE = Right.READ, Right.MANAGE

PUBLIC = """
annotate:home annotate:panel-arrival annotate:prolific-hook
api:docs api:schema
projects:accessibility projects:first-owner projects:guide-annotators projects:join projects:language
projects:passkey-options projects:passkey-sign-in projects:password-forgotten projects:password-reset projects:privacy
projects:second-step projects:sign-in projects:sign-out projects:single-sign-on projects:single-sign-on-callback
"""
SIGNED_IN = """
annotate:account-delete annotate:desk annotate:session
projects:account projects:app-new projects:app-set-up projects:confirm projects:confirm-single-sign-on
projects:factor-remove projects:identity-link projects:identity-unlink projects:passkey-new projects:passkey-new-options
projects:password-change projects:rating-keys projects:recovery-codes projects:security
"""
OTHERS = {
    "api:project-list": "api",
    "projects:guide": "reads projects",
    **dict.fromkeys(
        ("projects:project-new", "results:model-list", "results:model-remove", "results:model-verify"),
        "creates projects",
    ),
}
PAGES = {
    Right.HISTORY: """
annotate:earnings annotate:history annotate:history-reply annotate:history-show annotate:notice-read
annotate:panel-return annotate:panel-session
""",
    Right.MEMBER: """
annotate:consent annotate:consent-withdraw annotate:instructions annotate:project-desk
""",
    Right.WORK: """
annotate:attempt-begin annotate:attempt-draft annotate:attempt-feedback annotate:attempt-result annotate:attempt-show
annotate:instructions-read annotate:qualification annotate:revision annotate:revision-draft annotate:survey
annotate:work-draft annotate:work-extend annotate:work-reopen annotate:work-return annotate:work-show
annotate:work-start
""",
    Right.READ: """
annotate:adjudication-list annotate:batch-list annotate:batch-show annotate:data-candidates annotate:data-overview
annotate:data-passages annotate:data-questions annotate:hit-preview annotate:hit-show annotate:pair-list
annotate:passage-show annotate:plan-list annotate:plan-show annotate:qualification-attempt
annotate:qualification-attempts annotate:qualification-item-preview annotate:qualification-test annotate:remark-list
projects:consent-version projects:instructions-version projects:project-settings projects:rubric-show
projects:rubric-version projects:token-list projects:token-new projects:token-revoke projects:token-rotate
""",
    Right.MANAGE: """
results:export-controls results:gold-rule results:set-again results:set-cancel results:set-doi results:set-new
results:set-retire results:set-succeed
""",
    Right.OWN: """
annotate:prolific-account annotate:prolific-account-act projects:project-delete projects:project-settings-edit
""",
}
MANAGED_BY_PROGRAMS = """
api:balance-list api:entry-list
api:import-cancel api:import-check api:import-list api:import-show api:import-write
api:invitation-list api:invitation-revoke api:pay-approval api:payment-list
api:payment-show api:people-list api:person-message api:person-removal api:person-show api:person-standing
"""
COMPUTED_FOR_READERS = """
api:agreement api:leaderboard api:metric-list api:scores api:study-again api:study-cancel api:study-list api:study-show
api:training-cancel api:training-list api:training-show api:training-start
"""

RIGHTS: dict[str, tuple[str | None, Right | None, Right | None]] = {
    **dict.fromkeys(PUBLIC.split(), ("public", None, None)),
    **dict.fromkeys(SIGNED_IN.split(), ("signed in", None, None)),
    **{name: (policy, None, None) for name, policy in OTHERS.items()},
    **{name: (None, right, right) for right, names in PAGES.items() for name in names.split()},
    **dict.fromkeys(MANAGED_BY_PROGRAMS.split(), (None, MANAGE, MANAGE)),
    **dict.fromkeys(COMPUTED_FOR_READERS.split(), (None, READ, READ)),
}
"""The name of a policy that asks for no right in a project, and otherwise the rights to read and to write."""
BY_NAMESPACE = {"results": (None, READ, READ), "api": (None, READ, MANAGE)}
ROUTES = [route for route in all_routes() if not route.is_admin]


def describe(route: Route) -> tuple[str | None, Right | None, Right | None]:
    policy = route.policy
    assert policy is not None, route.name
    if policy.right is None:
        return policy.name, None, None
    return None, policy.right_for("GET"), policy.right_for("POST")


def test_each_route_asks_for_the_right_that_is_written_here() -> None:
    found = {route.name: describe(route) for route in ROUTES}
    wanted = {
        name: RIGHTS.get(name, BY_NAMESPACE.get(name.partition(":")[0], (None, MANAGE, MANAGE))) for name in found
    }
    assert found == wanted, "Does a view ask for too little? If it is as it should be, write it down in this file."


def test_each_route_that_is_written_here_is_there() -> None:
    assert RIGHTS.keys() <= {route.name for route in ROUTES}
