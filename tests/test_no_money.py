"""A project that pays nothing shows no money anywhere, and neither does work without pay to its annotators."""

import html
import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from annotate.models import Batch, BatchAnnotator, QualificationTest
from annotate.moderation import decisions, members
from annotate.moderation.members import Exclusion, ExclusionScope
from annotate.moderation.work_filter import WorkFilter
from annotate.onboarding import consent as onboarding
from projects.models import Membership, Project, User
from projects.people import invitations
from tests import sized_projects
from tests.annotate.open_batches import open_batch
from tests.annotate.payments.paid_work import earn
from tests.annotate.submitted_work import rate
from tests.every_page import addresses, make_samples
from tests.factories import make_batch, make_consent, make_corpus
from tests.people import SignIn
from tests.previews import confirm
from tests.results.judged_batches import take_file
from tests.sized_projects import submit

pytestmark = pytest.mark.django_db


MONEY = re.compile(
    r"(?<!per )\bcents?\b|\bcosts?\b|\$|\bpay|\bpaid\b|\bunpaid\b|\bearn|\bmoney\b|\bbonus|\bdollars?\b", re.IGNORECASE
)
OF_PAY = {
    *("annotate:payment-list", "annotate:payment-show", "annotate:ledger-show"),
    "annotate:earnings",
}
MAY_NAME_IT = {
    *("projects:project-settings-edit", "projects:project-new", "api:docs"),
    *("annotate:panel-new", "annotate:panel-edit"),
    *("projects:guide", "projects:guide-annotators", "projects:privacy", "annotate:account-delete"),
    *("annotate:prolific-account", "annotate:prolific-study", "annotate:prolific-study-edit"),
    *("annotate:prolific-study-places", "annotate:prolific-submission-reject"),
    *("annotate:prolific-bonus-new", "annotate:prolific-bonus-show"),
}
"""Where pay is set, where a project does not exist yet, what is said of all projects, what scripts may ask, and what a
platform pays."""
LEAST_PAGES = 45


OF_METRICS = re.compile(r"\b[Bb]onus(?:-weight| for| in)\b|\b(?:of|the|a|without|opinion|entity) bonus\b")
"""Adapted metrics give an answer a bonus, which nobody is paid."""


def read(client: Client, address: str = "/desk/") -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", client.get(address).content.decode()).split())


def find_words_of_money(content: str) -> list[str]:
    text = html.unescape(re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", content, flags=re.DOTALL))
    text = OF_METRICS.sub(" ", text)
    return [text[max(0, found.start() - 30) : found.end() + 30] for found in MONEY.finditer(text)]


@pytest.fixture
def unpaid(project: Project, owner: Membership, annotator: Membership, other_annotator: Membership) -> Project:
    """Judged, with every state there is, and without a cent."""
    Project.objects.update(cents_per_hit=0)
    for member in (owner, annotator, other_annotator):
        member.project.refresh_from_db()
    project.refresh_from_db()
    make_corpus(project, n_passages=8, n_candidates=3, name="more")
    return project


def test_no_page_of_an_unpaid_project_names_money(
    unpaid: Project,
    owner: Membership,
    annotator: Membership,
    other_annotator: Membership,
    client_of: SignIn,
    tmp_path: Path,
) -> None:
    sized_projects.make_every_state(make_batch(unpaid, datasets=("more",), name="More"), annotator, other_annotator)
    take_file(unpaid, "question,reference,candidate\nWho?,Ann,Bob\n", "rows.csv", tmp_path)
    User.objects.filter(memberships=owner).update(can_create_projects=True)
    _, token = invitations.create_invitation(actor=owner, role=Membership.Role.RESEARCHER)
    assert owner.user
    assert other_annotator.user
    samples = make_samples(other_annotator, batch=1, token=token, is_paid=False)
    people = {"owner": owner, "annotator": other_annotator}
    n_seen, wrong = 0, []
    for name, who, path in addresses(samples, owner=owner.user, annotator=other_annotator.user):
        client = client_of(people[who]) if who in people else Client()
        response = client.get(path)
        if name in OF_PAY:
            assert response.status_code == 404, name
        elif name not in MAY_NAME_IT and response.status_code == 200:
            n_seen += 1
            found = find_words_of_money(response.content.decode())
            wrong += [f"{name} for {who}: {words}" for words in found]
    assert not wrong, "\n".join(wrong)
    assert n_seen >= LEAST_PAGES


def test_a_paid_project_does_name_it(project: Project, annotator: Membership, client_of: SignIn) -> None:
    page = client_of(annotator).get(reverse("annotate:project-desk", args=[project.slug]))
    assert find_words_of_money(page.content.decode())


def test_the_plan_of_an_unpaid_batch_has_no_money(unpaid: Project, owner: Membership, client_of: SignIn) -> None:
    client, address = client_of(owner), reverse("annotate:batch-new", args=[unpaid.slug])
    asked = {
        "kind": "full",
        "seed": "0",
        "judgments": "2",
        "hit_size": "10",
        "time_limit_minutes": "60",
        "order": "breadth",
        "priority": "0",
    }
    plan = client.get(address, asked)
    assert plan.status_code == 200
    assert "Preview" in plan.content.decode()
    assert find_words_of_money(plan.content.decode()) == []
    assert confirm(client, address, asked, cents_per_hit="40").status_code == 302
    batch = Batch.objects.get()
    assert not batch.is_paid
    wanted = client.get(reverse("annotate:batch-wanted", args=[unpaid.slug, batch.number]), {"judgments": "1"})
    assert find_words_of_money(wanted.content.decode()) == []
    log = client.get(reverse("projects:log-list", args=[unpaid.slug]))
    assert find_words_of_money(log.content.decode()) == []


def test_acting_in_an_unpaid_project_names_no_money(
    unpaid: Project, owner: Membership, annotator: Membership, other_annotator: Membership, client_of: SignIn
) -> None:
    """The previews of decisions and of removals, what the annotator reads of them, and the log of it all."""
    make_batch(unpaid, datasets=("more",), name="More", judgments=2)
    work = rate(annotator, 2)[0]
    rate(other_annotator, 2)
    only = WorkFilter(uuids=(str(work.uuid),))
    decisions.reject(project=unpaid, actor=owner, chosen=only, reason="Straight lines.")
    home = f"/p/{unpaid.slug}/"
    wanted = {
        owner: [
            f"{home}submitted/decide/?act=approve&all=on",
            f"{home}submitted/decide/?act=reject&all=on",
            f"{home}submitted/{work.uuid}/",
            f"{home}people/{annotator.pseudonym}/remove/?scope=all&reopens=on",
            f"{home}people/{annotator.pseudonym}/restore/",
            reverse("annotate:annotator-show", args=[unpaid.slug, annotator.pseudonym]),
            f"{home}people/?sort=-standing",
            f"{home}log/",
        ],
        annotator: ["/desk/", f"{home}desk/", f"{home}history/", f"{home}history/?state=rejected"],
    }
    for act in ("", "removed", "restored"):
        if act == "removed":
            members.remove(
                target=other_annotator, actor=owner, why="Poor.", exclusion=Exclusion(scope=ExclusionScope.ALL)
            )
        if act == "restored":
            members.restore(target=other_annotator, actor=owner, why="Ours.")
            decisions.accept(project=unpaid, actor=owner, assignment=work, why="Well explained.")
        for member, paths in wanted.items():
            for path in paths:
                page = client_of(member).get(path)
                assert page.status_code == 200, path
                assert find_words_of_money(page.content.decode()) == [], path


def test_work_without_pay_names_no_money_to_who_has_earned_none(
    project: Project, annotator: Membership, other_annotator: Membership, client_of: SignIn
) -> None:
    open_batch(project, n_hits=2, judgments=2, cents_per_hit=0)
    submit(annotator)
    home = f"/p/{project.slug}"
    onboarding.agree(annotator=annotator, version=make_consent(project).version)
    pages = ["/desk/", f"{home}/desk/", f"{home}/history/", f"{home}/withdraw/"]
    client = client_of(annotator)
    for address in pages:
        assert not find_words_of_money(client.get(address).content.decode()), address
    # Where they have earned something, or may yet, the pages name it.
    earn(other_annotator, 500)
    client = client_of(other_annotator)
    assert "$5.00" in read(client)
    assert "Earnings" in read(client, f"{home}/history/")
    open_batch(project, cents_per_hit=40)
    client = client_of(annotator)
    assert "Earned today (UTC) $0.00" in read(client)


def test_a_paid_batch_for_others_names_no_money(
    project: Project, annotator: Membership, other_annotator: Membership, client_of: SignIn
) -> None:
    open_batch(project, cents_per_hit=0)
    paid = open_batch(project, cents_per_hit=40, has_named_annotators=True)
    BatchAnnotator.objects.create(batch=paid, annotator=other_annotator)
    assert not find_words_of_money(client_of(annotator).get("/desk/").content.decode())
    assert "Earned today (UTC) $0.00" in read(client_of(other_annotator))


def test_a_paid_test_names_the_money_before_the_work(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    open_batch(project, cents_per_hit=0)
    QualificationTest.objects.create(
        project=project, rubric=project.rubrics.get(), state=QualificationTest.State.OPEN, cents=25
    )
    assert "Earned today (UTC) $0.00" in read(client_of(annotator))


def test_a_paid_batch_names_the_money_in_a_project_without_a_rate_of_its_own(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    Project.objects.filter(pk=project.pk).update(cents_per_hit=0, cents_per_item=0)
    open_batch(project, cents_per_hit=40)
    home, client = f"/p/{project.slug}", client_of(annotator)
    assert "Earned today (UTC) $0.00" in read(client)
    for address in (f"{home}/history/", f"{home}/desk/"):
        assert "Earnings" in read(client, address), address
