"""Every page there is, read from the routes: nobody keeps a list of them by hand."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from django.test import Client

from annotate.models import Assignment, Remark
from annotate.payments import paying
from projects.access import Right
from projects.accounts import passwords
from projects.api import tokens
from projects.models import Candidate, Membership, Passage, Project, Question, User
from results.reports import reports
from tests import factories
from tests.annotate.panels.samples import panel_samples
from tests.annotate.payments.paid_work import earn
from tests.annotate.prolific.samples import prolific_samples
from tests.annotate.qualification.factories import path_samples
from tests.annotate.quality.scripted_annotators import quality_samples
from tests.annotate.submitted_work import acting_samples
from tests.annotate.surveys.samples import survey_samples
from tests.people import sign_in
from tests.projects.webhooks.samples import webhook_samples
from tests.results.metrics.samples import metric_samples
from tests.results.sets.frozen_sets import set_samples
from tests.results.studies.factories import study_samples
from tests.results.training.factories import training_samples
from tests.routes import Route, all_routes

NO_PAGES = (
    *("export-long", "export-aggregated", "export-jsonl", "export-mocha", "export-controls"),
    *("-chart", "report-job", "set-job", "set-archive", "set-file", "study-job", "-table", "study-compare"),
    *("metric-jobs", "metric-job", "metric-scores", "training-job", "score-file-job", "score-file-problems"),
    *(
        "single-sign-on-callback",
        "import-file",
        "import-skipped",
        "file-skipped",
        "import-job",
        "controls-job",
        "annotate:panel-arrival",
        "annotate:panel-session",
        "annotate:panel-return",
        "annotate:session",
        "api:schema",
    ),
)
"""Files, fragments, what answers scripts, and the pages of people from a panel, who alone can see them."""


class Address(NamedTuple):
    """A page as somebody goes to it: nobody, the owner or the annotator."""

    name: str
    who: str
    path: str


def addresses(samples: Mapping[str, Any], *, owner: User, annotator: User) -> Iterator[Address]:
    """Every route that answers GET with a page, for each who sees it in another way."""
    clients = {user: sign_in(user) for user in (owner, annotator)}
    for route in all_routes():
        if route.is_admin or route.is_api or route.name.endswith(NO_PAGES):
            continue
        path, who_may = route.fill(samples), visitors(route)
        if answers_get(clients[annotator if who_may == ["annotator"] else owner], path):
            yield from (Address(route.name, who, path) for who in who_may)


def visitors(route: Route) -> list[str]:
    """Those who see the page, and see it each in another way."""
    assert route.policy is not None
    if route.policy.name == "public":
        return ["nobody", "owner"] if route.name == "projects:join" else ["nobody"]
    if route.policy.right is Right.WORK or route.name == "annotate:history-show":  # one's own HITs alone
        return ["annotator"]
    if route.policy.name in ("creates projects", "reads projects"):
        return ["owner"]
    return ["owner"] if route.policy.right not in (None, Right.HISTORY, Right.MEMBER) else ["owner", "annotator"]


def answers_get(client: Client, path: str) -> bool:
    """Every view refuses OPTIONS, and says what it takes."""
    return "GET" in client.options(path).headers["Allow"]


def make_samples(annotator: Membership, *, batch: int, token: str, is_paid: bool = True) -> dict[str, Any]:
    """A value for each parameter of a path, from the project of somebody who has a HIT open in it.

    The token is that of an invitation. The project has an import, and an item that somebody remarked on. Where it is
    paid there is a payment too.
    """
    project = annotator.project
    hit = project.batches.get(number=batch).hits.earliest("number")
    payment = _find_payment(project) if is_paid else 1
    of_qualification = path_samples(annotator)  # before there is a consent text, which an attempt asks for
    if not project.consents.exists():
        factories.make_consent(project)
    *_, uidb64, reset_token, _ = passwords.link_path(factories.make_user()).split("/")
    return {
        "slug": project.slug,
        "pseudonym": annotator.pseudonym,
        "invitation_id": project.invitations.latest("pk").pk,
        "token_id": read_token(project.memberships.get(role=Membership.Role.OWNER)),
        "version": 1,
        "projects:guide name": "managers",
        "results:report-cancel pk": find_report(project),
        "uidb64": uidb64,
        "token": token,
        "projects:password-reset token": reset_token,
        "projects:factor-remove pk": 1,
        "number": batch,
        "plan_number": factories.make_plan(project).number,
        "hit_number": hit.number,
        "assignment_uuid": Assignment.objects.open().get(annotator=annotator).uuid,
        "annotate:passage-show pk": Passage.objects.filter(dataset__project=project).earliest("pk").pk,
        "results:item pk": Candidate.objects.in_project(project).earliest("pk").pk,
        "annotate:remark-resolve pk": Remark.objects.filter(assignment__hit__batch__project=project).earliest("pk").pk,
        **{
            f"{route.name} number": project.imports.earliest("number").number
            for route in all_routes()
            if route.name.startswith("annotate:import-")
        },
        **dict.fromkeys(("annotate:payment-show number", "annotate:payment-file number"), payment),
        **of_qualification,
        **quality_samples(project),
        **acting_samples(annotator),
        **pair_samples(project),
        **set_samples(project, project.memberships.get(role=Membership.Role.OWNER)),
        **metric_samples(project, project.memberships.get(role=Membership.Role.OWNER)),
        **study_samples(project, project.memberships.get(role=Membership.Role.OWNER)),
        **training_samples(project, project.memberships.get(role=Membership.Role.OWNER)),
        **webhook_samples(project.memberships.get(role=Membership.Role.OWNER)),
        **panel_samples(project.memberships.select_related("project").get(role=Membership.Role.OWNER)),
        **prolific_samples(project.memberships.select_related("project").get(role=Membership.Role.OWNER)),
        **survey_samples(project.memberships.select_related("project").get(role=Membership.Role.OWNER)),
    }


def pair_samples(project: Project) -> dict[str, int]:
    """A question to write a minimal pair on, and a pair."""
    question = Question.objects.filter(dataset__project=project).earliest("pk")
    pair = factories.make_pair(question, phenomenon="negation")
    return {
        "annotate:pair-new pk": question.pk,
        **dict.fromkeys(("annotate:pair-edit pk", "annotate:pair-remove pk"), pair.pk),
    }


def chart_samples(*, of_ours: bool) -> dict[str, str]:
    """The name and the form of a file for each route of charts and tables."""
    names = {
        "project-overview": "progress",
        "agreement": "parts",
        "agreement-annotators": "pairs",
        "agreement-time": "time",
        "scores": "distribution",
        "systems": "systems-raw",
        "replication": "replication",
        "leaderboard": "segment",
        "planner": "widths",
        "study": "scatter-1",
        "metric": "spread",
        "training": "epochs",
    }
    tables = {
        "agreement": "parts",
        "agreement-annotators": "annotators",
        "agreement-time": "time",
        "batch-results": "criteria",
        "disagreements": "items",
        "leaderboard": "metrics",
        "metric": "source",
        "metric-list": "metrics",
        "planner": "requirements",
        "replication": "correlation",
        "scores": "methods",
        "set": "criteria",
        "study": "overall",
        "study-compare": "overall",
        "systems": "scores",
        "training": "overall",
    }
    routes = {f"{route}-chart": name for route, name in names.items()}
    routes |= {f"{route}-table": name for route, name in tables.items()}
    routes = {f"results:{route}": name for route, name in routes.items()}
    routes["annotate:quality-table"] = "annotators"
    samples = {f"{route} name": name if of_ours else "other" for route, name in routes.items()}
    samples |= {f"{route} form": "csv" if of_ours else "exe" for route in routes}
    of_api = [(kind, part) for kind in ("study", "training") for part in ("name", "form")]
    return samples | {f"api:{kind}-table {part}": samples[f"results:{kind}-table {part}"] for kind, part in of_api}


def find_report(project: Project) -> int:
    actor = project.memberships.exclude(role=Membership.Role.ANNOTATOR).earliest("pk")
    return reports.request_report(project=project, actor=actor, kind="agreement", settings={"of": "a test"}).pk


def read_token(member: Membership) -> int:
    token, _ = tokens.make_token(membership=member, name="for the pages")
    return token.pk


def _find_payment(project: Project) -> int:
    """The number of a payment, made where there is none."""
    if not project.payments.exists():
        owner = project.memberships.get(role=Membership.Role.OWNER)
        earn(project.memberships.annotators().earliest("pk"), 250, is_approved=True, kind="bonus")
        paying.make_payment(project=project, actor=owner)
    return project.payments.earliest("number").number
