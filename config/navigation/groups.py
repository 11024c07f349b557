"""The table of the navigation: eight groups for those who manage or read a project, the desk for annotators."""

from django.utils.translation import gettext_lazy

from annotate.payments.ledger import find_paid, pays_anything
from config.navigation.menu import Group, Page
from projects.access import Right

OVERVIEW = Group("Overview", url_name="results:project-overview")

DATA = Group(
    "Data",
    url_name="annotate:data-overview",
    pages=(
        Page("Passages", "annotate:data-passages", below=("annotate:passage-show", "annotate:passage-withdraw")),
        Page("Questions", "annotate:data-questions"),
        Page("Candidates", "annotate:data-candidates", below=("annotate:candidate-withdraw",)),
        Page(
            "Minimal pairs",
            "annotate:pair-list",
            below=("annotate:pair-new", "annotate:pair-edit", "annotate:pair-remove"),
        ),
        Page(
            "Imports",
            "annotate:import-list",
            Right.MANAGE,
            below=(
                "annotate:import-new",
                "annotate:import-show",
                "annotate:import-check",
                "annotate:import-write",
                "annotate:import-reopen",
                "annotate:import-cancel",
            ),
        ),
        Page("Split", "annotate:data-split", Right.MANAGE),
    ),
)

TASK = Group(
    "Task",
    pages=(
        Page(
            "Rubric",
            "projects:rubric-show",
            below=("projects:rubric-version", "projects:rubric-new"),
        ),
        Page(
            "Instructions",
            "projects:instructions-edit",
            Right.MANAGE,
            below=("projects:instructions-version", "annotate:instructions"),
            otherwise="annotate:instructions",
        ),
        Page(
            "Consent",
            "projects:consent-edit",
            Right.MANAGE,
            below=("projects:consent-version", "annotate:consent", "annotate:consent-withdraw"),
            otherwise="annotate:consent",
        ),
        Page(
            "Surveys",
            "annotate:survey-list",
            Right.MANAGE,
            below=("annotate:survey-edit", "annotate:survey-answers"),
        ),
        Page(
            "Qualification test",
            "annotate:qualification-test",
            below=(
                "annotate:qualification-make",
                "annotate:qualification-settings",
                "annotate:qualification-rubric",
                "annotate:qualification-new-item",
                "annotate:qualification-file",
                "annotate:qualification-candidates",
                "annotate:qualification-item",
                "annotate:qualification-item-preview",
                "annotate:qualification-item-retire",
                "annotate:qualification-attempts",
                "annotate:qualification-attempt",
                "annotate:qualification-person",
            ),
        ),
    ),
)

COLLECTION = Group(
    "Collection",
    pages=(
        Page(
            "Batches",
            "annotate:batch-list",
            below=(
                "annotate:batch-new",
                "annotate:batch-show",
                "annotate:batch-state",
                "annotate:batch-caps",
                "annotate:batch-wanted",
                "annotate:batch-controls",
                "annotate:control-plan",
                "annotate:control-act",
                "annotate:controls-cancel",
                "annotate:hit-show",
                "annotate:hit-preview",
                "results:batch-results",
            ),
        ),
        Page(
            "Overlap plan",
            "annotate:plan-list",
            below=("annotate:plan-new", "annotate:plan-show", "annotate:plan-edit", "annotate:plan-start"),
        ),
        Page(
            "Panels",
            "annotate:panel-list",
            Right.MANAGE,
            below=(
                *("annotate:panel-new", "annotate:panel-show", "annotate:panel-edit", "annotate:panel-test"),
                *("annotate:prolific-account", "annotate:prolific-study", "annotate:prolific-study-edit"),
                *("annotate:prolific-study-places", "annotate:prolific-submission-reject"),
                *("annotate:prolific-bonus-new", "annotate:prolific-bonus-show"),
            ),
        ),
        Page(
            "Annotators & invitations",
            "projects:invitation-list",
            Right.MANAGE,
            below=("projects:invitation-new",),
        ),
    ),
)

REVIEW = Group(
    "Review",
    right=Right.MANAGE,
    is_counted=True,
    pages=(
        Page(
            "Submissions",
            "annotate:submitted-list",
            Right.MANAGE,
            below=(
                "annotate:submitted-decide",
                "annotate:assignment-show",
                "annotate:assignment-decide",
                "annotate:assignment-item",
            ),
            count=lambda waiting: waiting.submissions,
        ),
        Page(
            "Alerts",
            "annotate:finding-list",
            Right.MANAGE,
            below=("annotate:finding-settle",),
            count=lambda waiting: waiting.alerts,
        ),
        Page(
            "Annotator quality",
            "annotate:quality-list",
            Right.MANAGE,
            below=("annotate:quality-rules", "annotate:quality-controls", "annotate:annotator-show"),
        ),
        Page(
            "Comments & flags",
            "annotate:remark-list",
            Right.MANAGE,
            count=lambda waiting: waiting.remarks,
        ),
        Page(
            "Spot checks",
            "annotate:review-list",
            Right.MANAGE,
            below=("annotate:review-show", "annotate:review-judge"),
            count=lambda waiting: waiting.spot_checks,
        ),
        Page("Adjudication", "annotate:adjudication-list", Right.MANAGE, below=("annotate:adjudication-settle",)),
    ),
)

RESULTS = Group(
    "Results",
    pages=(
        Page(
            "Agreement",
            "results:agreement",
            below=("results:agreement-annotators", "results:agreement-time"),
        ),
        Page("Human scores", "results:scores", below=("results:disagreements", "results:item")),
        Page("Systems", "results:systems", below=("results:replication",)),
        Page(
            "Automatic metrics",
            "results:metric-list",
            below=(
                "results:metric-new",
                "results:metric-show",
                "results:metric-delete",
                "results:score-file-new",
                "results:score-file",
                "results:score-file-take",
                "results:score-file-check",
                "results:training-list",
                "results:training-new",
                "results:training-show",
                "results:training-delete",
            ),
        ),
        Page(
            "Metric evaluation",
            "results:study-list",
            below=(
                "results:study-new",
                "results:study-show",
                "results:study-compare",
                "results:study-cause",
                "results:study-delete",
            ),
        ),
        Page("Leaderboard", "results:leaderboard"),
        Page("Sample-size planner", "results:planner"),
    ),
)

RELEASES = Group(
    "Releases",
    pages=(
        Page(
            "Judgment sets",
            "results:set-list",
            below=("results:set-new", "results:set-show", "results:set-retire", "results:set-succeed"),
        ),
        Page("Raw export", "results:export-list"),
    ),
)

ADMIN = Group(
    "Admin",
    pages=(
        Page(
            "Members",
            "projects:people-list",
            Right.MANAGE,
            below=(
                "projects:member-show",
                "projects:member-reset-link",
                "annotate:member-warn",
                "annotate:member-suspend",
                "annotate:member-remove",
                "annotate:member-restore",
            ),
        ),
        Page(
            "Payments",
            "annotate:payment-list",
            Right.MANAGE,
            below=("annotate:payment-show", "annotate:ledger-show", "annotate:panel-payments"),
            is_shown=lambda member: pays_anything(member.project),
        ),
        Page("Audit log", "projects:log-list", Right.MANAGE),
        Page("API tokens", "projects:token-list", below=("projects:token-new", "projects:token-rotate")),
        Page(
            "Webhooks",
            "projects:webhook-list",
            Right.MANAGE,
            below=("projects:webhook-new", "projects:webhook-show", "projects:webhook-act"),
        ),
        Page(
            "Settings",
            "projects:project-settings",
            Right.MANAGE,
            below=("projects:project-settings-edit", "projects:project-delete"),
        ),
    ),
)

GROUPS = (OVERVIEW, DATA, TASK, COLLECTION, REVIEW, RESULTS, RELEASES, ADMIN)

DESK = Group(
    gettext_lazy("Desk"),
    right=Right.WORK,
    pages=(
        Page(
            gettext_lazy("Desk"),
            "annotate:project-desk",
            Right.MEMBER,
            below=(
                "annotate:panel-session",
                "annotate:survey",
                "annotate:consent",
                "annotate:consent-withdraw",
                "annotate:qualification",
                "annotate:attempt-begin",
                "annotate:attempt-show",
                "annotate:attempt-feedback",
                "annotate:attempt-result",
                "annotate:work-start",
                "annotate:work-show",
                "annotate:work-return",
                "annotate:work-reopen",
            ),
        ),
        Page(
            gettext_lazy("Instructions"),
            "annotate:instructions",
            Right.MEMBER,
            below=("annotate:instructions-read",),
        ),
        Page(
            gettext_lazy("History"),
            "annotate:history",
            Right.MEMBER,
            below=("annotate:history-show", "annotate:history-reply", "annotate:revision"),
        ),
        Page(
            gettext_lazy("Earnings"),
            "annotate:earnings",
            Right.MEMBER,
            is_shown=lambda member: member.pk in find_paid([member]),
        ),
    ),
)
"""The pages of annotators; a ninth group for members who manage or read the project and annotate in it too."""
