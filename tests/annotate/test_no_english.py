"""No English on what annotators read in another language: pages, messages, errors of forms, words of scripts.

One tour through everything an annotator does is made in each language. Whatever reads the same as in English was not
translated.
"""

import json
import os
import re
import uuid
from collections.abc import Iterator
from datetime import timedelta
from http import HTTPStatus
from typing import Any

import pytest
from babel.messages import Catalog
from django.conf import settings
from django.db.models.functions import Now
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone, translation

from annotate import places
from annotate.models import Assignment, Batch
from annotate.moderation import decisions, members
from annotate.moderation.work_filter import WorkFilter
from annotate.onboarding import consent
from annotate.qualification import design
from annotate.work import serving
from config import translating
from projects.accounts.rating_keys import ACTIONS
from projects.models import Membership, User
from projects.people import invitations
from tests import factories
from tests.annotate.open_batches import open_batch
from tests.annotate.payments.paid_work import earn
from tests.annotate.qualification.factories import make_test, take
from tests.config.test_translations import THE_SAME
from tests.page_reader import list_texts

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick_passwords")]

NAME = "Zz"
"""In each name that people chose here, so that it differs from the page's own text."""
WORD = re.compile(r"[A-Za-z]{3}")
NAMES = re.compile(
    r"\b(Concord|UTC|HIT|HITs|JSON|JavaScript|WCAG|AA|axe|MB|Content-Encoding|Enter|Correctness)\b|\S*[@/_<>]\S*|\S+:\S+"
    r"|\S*Zz\S*|{\w*}"
)
"""What is written the same in every language: names, addresses, placeholders."""
OWN_WORDS = {"ar": {"HIT", "HITs"}}
"""Which of these names the language has a word of its own for."""
N_NEEDED = 500
"""How many sentences of the catalogue the tour meets at least, so that it can't shrink unseen."""

LANGUAGES = [language for language, _ in settings.LANGUAGES]
if int(os.environ.get("SCALE", "1")) == 1:
    LANGUAGES = ["en", "ar", "zh-hans"]
"""Where these two pages say nothing in English, all do: each language's catalogue is complete."""

Texts = dict[str, set[str]]


class Tour:
    """Everything that annotators come to, step by step, read in one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.texts: Texts = {}
        self.project = factories.make_project(
            f"zz-{language}", name=NAME, revision_minutes=60, hourly_floor_cents=900, language=self.language
        )
        self.slug = self.project.slug
        owner = factories.make_user(f"Zz-owner-{language}")
        self.owner = factories.make_membership(self.project, owner, role=Membership.Role.OWNER)
        # Failed sign-ins are counted by address.
        address = f"10.0.0.{list(dict(settings.LANGUAGES)).index(language)}"
        self.nobody = Client(headers={"accept-language": language}, REMOTE_ADDR=address)

    def see(self, name: str, response: Any) -> str:
        page: str = response.content.decode()
        assert response.status_code < 500, name
        if response["Content-Type"].startswith("text/html"):
            texts = list_texts(page)
        else:
            texts = set(_list_strings(json.loads(page)))
        self.texts.setdefault(name, set()).update(texts)
        return page

    def get(self, client: Client, path: str) -> str:
        return self.see(f"GET {self._plain(path)}", client.get(path, follow=True))

    def post(self, client: Client, path: str, data: Any = None, **more: Any) -> str:
        return self.see(
            f"POST {self._plain(path)}", client.post(path, {} if data is None else data, follow=True, **more)
        )

    def _plain(self, path: str) -> str:
        return re.sub(r"[0-9a-f-]{36}|/reset/.*|/join/.*|\d+", "…", path.replace(self.slug, "zz"))

    def join(self, name: str, **over: object) -> tuple[Client, Membership]:
        user = factories.make_user(f"Zz-{name}-{self.language}", language=self.language, email="zz@example.org")
        client = Client(headers={"accept-language": self.language})
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        return client, factories.make_membership(self.project, user, **over)

    def at(self, name: str, *parts: object) -> str:
        return reverse(f"annotate:{name}", args=[self.slug, *parts])

    def run(self) -> Texts:
        self.errors()
        self.accounts()
        self.onboarding()
        self.test()
        self.work()
        self.one_at_a_time()
        self.decisions()
        self.endings()
        return self.texts

    def errors(self) -> None:
        request = RequestFactory().get("/")
        for template in ("400", "403", "403_csrf", "404", "405", "413", "415", "500"):
            with translation.override(self.language):
                self.texts[template] = list_texts(render_to_string(f"{template}.html", request=request))
        self.get(self.nobody, "/not-there/")
        self.post(self.nobody, reverse("projects:language"), {"language": "tlh"})

    def accounts(self) -> None:
        nobody, sign_in = self.nobody, reverse("projects:sign-in")
        for name in ("sign-in", "password-forgotten", "accessibility"):
            self.get(nobody, reverse(f"projects:{name}"))
        self.post(nobody, sign_in)
        user = factories.make_user(f"Zz-locked-{self.language}", password="a good long password")
        wrong = {"username": user.username, "password": "wrong"}
        self.post(nobody, sign_in, wrong)
        while nobody.post(sign_in, wrong).status_code == HTTPStatus.OK:
            pass
        self.see("too many", nobody.post(sign_in, wrong))
        self.get(nobody, reverse("projects:password-reset", args=["MQ", "no-token"]))

        _, token = invitations.create_invitation(actor=self.owner, role=Membership.Role.ANNOTATOR, max_uses=5)
        join = reverse("projects:join", args=[token])
        self.get(nobody, join)
        password = "a good long password"
        self.post(nobody, join, {"username": "with space", "new_password1": "short", "new_password2": "short"})
        self.post(nobody, join, {"username": user.username, "new_password1": password, "new_password2": "another"})
        self.post(nobody, join, {"username": user.username, "new_password1": password, "new_password2": password})
        self.get(nobody, reverse("projects:join", args=["no-token"]))
        client, member = self.join("account")
        self.get(client, join)
        stranger = factories.make_user(f"Zz-stranger-{self.language}", language=self.language)
        fresh = Client(headers={"accept-language": self.language})
        fresh.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
        self.get(fresh, reverse("annotate:desk"))
        self.get(fresh, join)
        self.get(fresh, self.at("project-desk"))
        self.post(fresh, join)
        for standing in (Membership.Standing.SUSPENDED, Membership.Standing.REMOVED):
            Membership.objects.filter(pk=member.pk).update(standing=standing)
            self.post(client, join)
            self.get(client, self.at("project-desk"))
            self.get(client, reverse("annotate:desk"))
        self.get(client, reverse("projects:account"))
        self.post(client, reverse("projects:account"), {"email": "none"})
        keys = reverse("projects:rating-keys")
        self.get(client, keys)
        clash = dict.fromkeys(ACTIONS, "c") | {"flag": "5", "undo": ""}
        for sent in (clash, {"reset": "1"}, {action: key for action, (key, _) in ACTIONS.items()}):
            self.post(client, keys, sent)
        self.get(client, reverse("projects:password-change"))
        self.post(client, reverse("projects:password-change"))
        for new in ("12345678", "short", "password1234", "zz-account"):
            sent = {"old_password": "wrong", "new_password1": new, "new_password2": new}
            self.post(client, reverse("projects:password-change"), sent)
        self.get(client, reverse("projects:project-settings", args=[self.slug]))
        self.post(client, reverse("projects:sign-out"))

    def onboarding(self) -> None:
        factories.make_consent(self.project, f"# {NAME}\n\n{NAME}")
        client, _ = self.join("newcomer")
        self.get(client, self.at("project-desk"))
        self.get(client, self.at("consent"))
        self.post(client, self.at("work-start"))
        self.post(client, self.at("consent"), {"act": "decline"})
        factories.make_consent(self.project, f"# {NAME}{NAME}")
        self.post(client, self.at("consent"), {"act": "agree", "version": "1"})
        self.post(client, self.at("consent"), {"act": "agree", "version": "2"})
        self.get(client, self.at("consent"))
        self.get(client, self.at("instructions"))
        self.project.instructions.create(version=2, text=f"# {NAME}\n\n{NAME}")
        self.get(client, self.at("project-desk"))
        self.get(client, self.at("instructions-read", 2))
        self.post(client, self.at("instructions-read", 2))
        factories.make_consent(self.project, f"# {NAME} {NAME}")
        self.get(client, self.at("project-desk"))
        self.get(client, self.at("consent"))
        self.get(client, self.at("consent-withdraw"))
        self.post(client, self.at("consent-withdraw"))
        self.post(client, self.at("consent-withdraw"), {"work": "keep", "is_meant": "on"})
        self.get(client, self.at("consent-withdraw"))
        self.get(client, self.at("consent"))
        self.get(client, self.at("project-desk"))

    def agreed(self, name: str) -> tuple[Client, Membership]:
        client, member = self.join(name)
        for version in self.project.instructions.all():
            version.readings.get_or_create(membership=member)
        consent.agree(annotator=member, version=self.project.consents.latest("version").version)
        return client, member

    def test(self) -> None:
        client, member = self.agreed("tested")
        self.get(client, self.at("qualification"))
        qualification = make_test(
            self.project, n_practice=2, max_attempts=2, wait_hours=0, time_limit_minutes=30, valid_days=30, cents=50
        )
        self.get(client, self.at("qualification"))
        self.get(client, self.at("project-desk"))
        self.post(client, self.at("work-start"))
        for purpose in ("practice", "test"):
            self.post(client, self.at("attempt-begin"), {"purpose": purpose})
            attempt = member.attempts.latest("pk")
            show = self.at("attempt-show", attempt.uuid)
            self.get(client, self.at("qualification"))
            self.get(client, self.at("project-desk"))
            self.post(client, show, {"page": "1"})
            self.post(client, show, {"page": "1", "a0-correctness": "9"})
            for page in ("1", "2"):
                self.get(client, f"{show}?page={page}")
                self.post(client, show, {"page": page, **form(2, "1")})
            self.get(client, self.at("attempt-result", attempt.uuid))
            draft = reverse("annotate:attempt-draft", args=[self.slug, attempt.uuid, 1])
            self.post(client, draft, {}, content_type="application/json")
        self.post(client, self.at("attempt-begin"))
        open_one = member.attempts.latest("pk")
        open_one.__class__.objects.filter(pk=open_one.pk).update(due_at=Now() - timedelta(hours=1))
        self.get(client, self.at("attempt-result", open_one.uuid))
        self.post(client, self.at("attempt-begin"))
        self.get(client, self.at("qualification"))
        self.get(client, self.at("project-desk"))
        client, member = self.agreed("passed")
        done = take(member)
        self.get(client, self.at("attempt-result", done.uuid))
        self.get(client, self.at("qualification"))
        self.post(client, self.at("attempt-begin"))
        design.close_test(test=qualification, actor=None)
        self.get(client, self.at("qualification"))

    def claim(self, member: Membership) -> Assignment:
        found = serving.claim(member)
        assert isinstance(found, uuid.UUID), found
        return Assignment.objects.get(uuid=found)

    def work(self) -> None:
        client, member = self.agreed("worker")
        self.post(client, self.at("work-start"))
        batch = open_batch(self.project, n_hits=6, cents_per_hit=50)
        self.get(client, self.at("project-desk"))
        self.post(client, self.at("work-start"))
        hit = Assignment.objects.get(annotator=member, state="open")
        page, draft = self.at("work-show", hit.uuid), self.at("work-draft", hit.uuid)
        self.get(client, page)
        self.get(client, f"{self.at('instructions')}?hit={hit.uuid}")
        self.get(client, self.at("project-desk"))
        self.get(client, self.at("history"))
        self.post(client, page, form(2))
        self.post(client, page, form(3, "99"))
        self.post(client, page, form(3, "2.5"))
        self.post(client, page, form(3, "zz"))
        self.post(client, page, {"place": "1", **form(3)})
        drafts: tuple[Any, ...] = (
            *([], {"answers": 1}, {"answers": {"0": {"correctness": [4, "now"]}}}, {"answers": {"0": {"x": [4, 1]}}}),
            *({"answers": {"77": {"correctness": [4, 1]}}}, {"answers": {"0": 4}}, {"comments": []}),
            *({"flags": {"0": ["yes", 1]}}, {"comments": {"0": ["x" * 300_000, 1]}}),
        )
        for sent in drafts:
            self.post(client, draft, sent, content_type="application/json")
        self.see("not JSON", client.post(draft, "{", content_type="application/json"))
        self.see("compressed", client.post(draft, "{}", content_type="application/json", HTTP_CONTENT_ENCODING="gzip"))
        self.post(client, self.at("work-extend", hit.uuid))
        self.post(client, self.at("work-extend", hit.uuid))
        strict = Client(enforce_csrf_checks=True, headers={"accept-language": self.language})
        self.see("signed out", strict.post(page, form(3)))
        strict.force_login(User.objects.get(memberships=member), backend="django.contrib.auth.backends.ModelBackend")
        self.see("stale", strict.post(page, form(3)))
        self.see("stale elsewhere", strict.post(reverse("projects:account"), {}))

        self.post(client, self.at("work-return", hit.uuid), {"reason": NAME})
        self.post(client, self.at("work-return", hit.uuid))
        self.post(client, self.at("work-reopen", hit.uuid))
        self.post(client, page, form(3))
        self.get(client, page)
        self.get(client, self.at("history-show", hit.uuid))

        done = self.claim(member)
        page = self.at("work-show", done.uuid)
        self.post(client, page, {**form(2), "cannot2": NAME, "comment0": NAME, "flag1": "on"})
        self.post(client, page, {**form(2), "cannot2": NAME, "comment0": NAME, "flag1": "on"})
        self.post(client, page, form(3, "1"))
        self.get(client, page)
        self.post(client, self.at("work-draft", done.uuid), {"answers": {}}, content_type="application/json")
        own, revision = self.at("history-show", done.uuid), self.at("revision", done.uuid)
        self.get(client, own)
        of = self.get(client, revision).split('name="of" value="')[1].split('"')[0]
        self.post(client, revision, {**form(1), "of": of})
        self.post(client, revision, {**form(3, "5"), "of": of})
        self.post(client, revision, {**form(3, "1"), "of": of})
        self.post(client, own + "reply/", {"text": NAME})
        self.get(client, self.at("project-desk"))
        Assignment.objects.filter(pk=done.pk).update(submitted_at=timezone.now() - timedelta(days=1))
        self.post(client, revision, {**form(3, "3"), "of": of})
        self.get(client, revision)
        earn(member, 1250, is_approved=True, kind="bonus", note=NAME)
        earn(member, -250, is_approved=True, kind="adjustment", note=NAME)
        for name in ("earnings", "history"):
            self.get(client, self.at(name))
        for state in ("pending", "approved", "paid", "owed"):
            self.get(client, f"{self.at('earnings')}?state={state}")

        late = Assignment.objects.filter(annotator=member, state="open").first() or self.claim(member)
        Assignment.objects.filter(pk=late.pk).update(due_at=Now() - timedelta(hours=2))
        places.sweep(project_id=self.project.pk)
        page = self.at("work-show", late.uuid)
        for path in (page, self.at("project-desk"), self.at("history-show", late.uuid)):
            self.get(client, path)
        self.post(client, self.at("work-reopen", late.uuid))
        self.get(client, page)
        for state in (Batch.State.PAUSED, Batch.State.CLOSED):
            Batch.objects.filter(pk=batch.pk).update(state=state)
            self.get(client, self.at("project-desk"))
            self.get(client, self.at("history-show", done.uuid))
            self.post(client, self.at("work-start"))
        Batch.objects.filter(pk=batch.pk).update(state=Batch.State.OPEN)

    def one_at_a_time(self) -> None:
        Batch.objects.filter(project=self.project).update(state=Batch.State.CLOSED)
        open_batch(self.project, n_hits=2, presentation=Batch.Presentation.ONE)
        client, member = self.agreed("stepper")
        hit = self.claim(member)
        page = self.at("work-show", hit.uuid)
        self.get(client, page)
        self.post(client, page, {"place": "0"})
        self.post(client, page, {"place": "0", "a0-correctness": "4"})
        self.post(client, page, {"place": "0", "a0-correctness": "2"})
        self.post(client, page, {"place": "2", "a2-correctness": "2"})
        self.post(client, page, form(3))
        for place in (1, 2):
            self.post(client, page, {"place": str(place), f"a{place}-correctness": "4"})
        self.get(client, self.at("history-show", hit.uuid))
        self.get(client, self.at("revision", hit.uuid))

    def decisions(self) -> None:
        open_batch(self.project, n_hits=2)
        client, member = self.agreed("rejected")
        hit = self.claim(member)
        client.post(self.at("work-show", hit.uuid), form(3))
        chosen = WorkFilter(uuids=(str(hit.uuid),))
        decisions.reject(project=self.project, actor=self.owner, chosen=chosen, reason=NAME, is_unpaid=True)
        members.warn(target=member, actor=self.owner, text=NAME)
        for path in (
            self.at("project-desk"),
            self.at("history-show", hit.uuid),
            self.at("history"),
            self.at("earnings"),
        ):
            self.get(client, path)
        reply = self.at("history-show", hit.uuid) + "reply/"
        for text in ("", "x" * 10_000, NAME, NAME):
            self.post(client, reply, {"text": text})
        self.get(client, self.at("history-show", hit.uuid))
        for notice in member.notices.all():
            self.post(client, self.at("notice-read", notice.pk))

    def endings(self) -> None:
        client, member = self.agreed("leaver")
        hit = self.claim(member)
        page = self.at("work-show", hit.uuid)
        Membership.objects.filter(pk=member.pk).update(standing=Membership.Standing.SUSPENDED)
        self.post(client, page, form(3))
        self.get(client, page)
        self.post(client, self.at("work-draft", hit.uuid), {"answers": {}}, content_type="application/json")
        Membership.objects.filter(pk=member.pk).update(standing=Membership.Standing.ACTIVE)
        self.post(client, page, form(3))
        self.get(client, self.at("consent-withdraw"))
        self.post(client, self.at("consent-withdraw"), {"work": "out", "is_meant": "on"})
        for path in (
            self.at("project-desk"),
            self.at("history-show", hit.uuid),
            self.at("history"),
            self.at("consent"),
        ):
            self.get(client, path)
        self.post(client, page, form(3))
        self.post(client, self.at("work-start"))
        type(self.project).objects.filter(pk=self.project.pk).update(deleted_at=timezone.now())
        self.get(client, reverse("annotate:desk"))
        self.get(client, self.at("project-desk"))


def form(n_items: int, value: str = "4") -> dict[str, object]:
    return {f"a{place}-correctness": value for place in range(n_items)}


def _list_strings(found: object) -> Iterator[str]:
    if isinstance(found, str):
        # A value without a space is a state or a time, for the script.
        yield from [found] if " " in found else []
    elif isinstance(found, dict | list):
        for each in found.values() if isinstance(found, dict) else found:
            yield from _list_strings(each)


@pytest.fixture(scope="module")
def sources() -> Catalog:
    return translating.read_sources()


def test_no_sentence_stays_in_english(sources: Catalog) -> None:
    tours = {language: Tour(language).run() for language in LANGUAGES}
    english = tours.pop("en")
    wrong = []
    for language, texts in tours.items():
        assert texts.keys() == english.keys()
        same = set().union(*(texts[step] & english[step] for step in texts))
        shared = [_as_pattern(sentence) for sentence in THE_SAME.get(language, ())]
        wrong += [
            f"{language}: {text}"
            for text in sorted(same)
            if (text in OWN_WORDS.get(language, ()) or WORD.search(NAMES.sub("", text)))
            and not any(pattern.fullmatch(text) for pattern in shared)
        ]
    met = count_met(sources, set().union(*english.values()))
    assert not wrong, "\n".join(wrong)
    assert met >= N_NEEDED


def count_met(sources: Catalog, texts: set[str]) -> int:
    """How many sentences of the catalogue the texts hold."""
    everything = "\n".join(texts)
    sentences = [[message.id] if isinstance(message.id, str) else list(message.id) for message in sources if message.id]
    return sum(any(_as_pattern(form).search(everything) for form in forms) for forms in sentences)


def _as_pattern(sentence: str) -> re.Pattern[str]:
    """A sentence of the catalogue as a page shows it, with something in each of its places; tags divide it."""
    longest = max(re.split(r"<[^>]*>", sentence), key=len).strip()
    parts = re.split(r"%\(\w+\)[sd]|\{\w*\}", longest.replace("%%", "%"))
    return re.compile(r"[^\n]*?".join(map(re.escape, parts)))
