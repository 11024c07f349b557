"""Every page that annotators come to, in each language: no English is left, and nothing sticks out."""

import os
import re
from urllib.parse import urlsplit

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from annotate.attempts import attempts
from annotate.onboarding import consent
from projects.models import Membership, Project, User
from tests.annotate.qualification.factories import answer, take
from tests.browser.conftest import PHONE, WIDE, SignedIn
from tests.browser.nasty import PAYLOADS, World, make_world
from tests.config.test_translations import THE_SAME
from tests.conftest import Site
from tests.every_page import Address, addresses
from tests.routes import all_routes

GROUPS: list[tuple[str, ...]] = [("de", "ar")]
if int(os.environ.get("SCALE", "1")) > 1:
    GROUPS += [("es", "fr"), ("zh-hans",)]
"""Languages that one test walks after English: several short walks go side by side, a long one holds up the rest."""
LANGUAGES = {"en": "en-GB", "de": "de-DE", "es": "es-ES", "fr": "fr-FR", "ar": "ar", "zh-hans": "zh-CN"}
LEAST_PAGES = 20

OWN_TEXTS = """() => {
  const others = "script, style, noscript, svg, kbd, code, bdi, textarea, [dir=auto], [lang]:not(html)";
  const texts = new Set([document.title.split(" · ")[0]]);
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (!walker.currentNode.parentElement.closest(others)) texts.add(walker.currentNode.data.trim());
  }
  const labels = "aria-label title placeholder data-confirm data-confirm-text data-confirm-label";
  for (const name of labels.split(" ")) {
    for (const element of document.querySelectorAll(`[${name}]`)) {
      if (!element.closest("bdi, [dir=auto], [lang]:not(html)")) texts.add(element.getAttribute(name));
    }
  }
  const names = /\\b(Concord|UTC|axe|WCAG|AA|JavaScript|HTML)\\b|\\S*[@/:_<>]\\S*/g;
  return [...texts].filter((text) => /[A-Za-z]{3}/.test(text.replace(names, "")));
}"""
"""What the page itself says: texts and labels with a Latin word, outside of what people wrote or what is a name."""

DIRECTION = "document.documentElement.getAttribute('dir')"


@pytest.fixture
def world(live_site: Site) -> World:
    return make_world()


@pytest.mark.parametrize("languages", GROUPS, ids=" ".join)
def test_no_english_is_left_and_every_language_fits(
    signed_in: SignedIn, world: World, languages: tuple[str, ...]
) -> None:
    rater = Membership.objects.get(pseudonym=world.samples["pseudonym"])
    assert rater.user is not None
    people = {"nobody": None, "annotator": world.annotator, "rater": rater.user}
    todo = annotators_pages(world) + [Address("", "rater", path) for path in submitted_pages(rater)]
    assert len(todo) >= LEAST_PAGES
    english: dict[Address, set[str]] = {}
    wrong: list[str] = []
    for language in ("en", *languages):
        locale = LANGUAGES[language]
        User.objects.update(language=language)
        Project.objects.update(language=language)
        pages = {who: signed_in(user, locale=locale) for who, user in people.items()}
        for address in todo:
            page = pages[address.who]
            page.goto(address.path)
            if address.who == "rater":
                assert urlsplit(page.url).path == address.path, "the page of another state"
            texts = set(page.evaluate(OWN_TEXTS))
            assert page.evaluate("document.documentElement.lang") == language, address.path
            if language == "en":
                english[address] = texts
                continue
            left = sorted(
                text for text in texts & english[address] if not is_planted(text) and not is_shared(text, language)
            )
            wrong += [f"{language} {address.path}: {text}" for text in left]
            wrong += [f"{language} {address.path}: {fault}" for fault in misfits(page, language)]
    assert sum(map(len, english.values())) > 10 * LEAST_PAGES
    assert not wrong, "\n".join(wrong)


def annotators_pages(world: World) -> list[Address]:
    """The pages that are given in a language, as somebody without an account and as an annotator goes to them."""
    spoken = {route.name for route in all_routes() if route.policy is not None and route.policy.is_translated}
    found = addresses(world.samples, owner=world.owner, annotator=world.annotator)
    return [address for address in found if address.name in spoken and address.who in ("nobody", "annotator")]


def submitted_pages(rater: Membership) -> list[str]:
    """Pages that differ once something was done: a HIT and a test submitted, practice explained, consent given."""
    project = rater.project
    Project.objects.filter(pk=project.pk).update(revision_minutes=60 * 24)
    consent.agree(annotator=rater, version=project.consents.latest("version").version)
    failed = take(rater, n_right=0)
    practice = attempts.begin(annotator=rater, purpose="practice")
    answer(rater, practice)
    attempts.submit_attempt(annotator=rater, attempt_uuid=practice.uuid)
    done = rater.assignments.get(state="submitted").uuid
    named = [
        *(("attempt-result", each.uuid) for each in (failed, practice)),
        *(("history-show", done), ("revision", done)),
        *((name,) for name in ("consent", "consent-withdraw", "qualification", "project-desk", "earnings", "history")),
    ]
    return [reverse(f"annotate:{name}", args=[project.slug, *parts]) for name, *parts in named]


def is_planted(text: str) -> bool:
    """Whether a text is nothing but what somebody wrote, such as the name of a criterion at its point."""
    return any(text.lstrip("0123456789") in payload for payload in PAYLOADS)


def is_shared(text: str, language: str) -> bool:
    """Whether the words are the same in both languages: French “Question 2”."""
    places = re.compile(r"%\(\w+\)[sd]|{\w*}")
    words = [places.sub("", each).strip() for each in THE_SAME.get(language, ())]
    return re.sub(r"\d+", "", text).strip() in words


def misfits(page: Page, language: str) -> list[str]:
    """How a page does not fit a phone or a wide screen, or runs the wrong way."""
    direction = "rtl" if language == "ar" else None
    found = [] if page.evaluate(DIRECTION) == direction else [f"is not written {direction or 'ltr'}"]
    for size in (PHONE, WIDE):
        page.set_viewport_size({"width": size["width"], "height": size["height"]})
        broad = page.evaluate("document.documentElement.scrollWidth")
        found += [f"{broad} pixels wide at {size['width']}"] if broad > size["width"] else []
    return found
