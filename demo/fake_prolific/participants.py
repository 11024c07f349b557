"""Simulated participants: they take a place, open the link, do what the pages ask, and end as people end."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from demo.fake_prolific.browser import Browser, Form, Page, fill
from demo.fake_prolific.platform import Platform
from demo.fake_prolific.request_checks import BadRequest

MOST_STEPS = 400


class Manner(Enum):
    """How a participant's session goes."""

    DILIGENT = "finishes"
    NO_CODE = "finishes, and enters no code"
    RETURNING = "returns the study halfway"
    REGRETTING = "finishes, and returns it afterwards"
    TIMING_OUT = "is too slow for the platform, and finishes late"
    DECLINING = "does not agree to the consent"


SHARES = {
    Manner.DILIGENT: 70,
    Manner.NO_CODE: 6,
    Manner.RETURNING: 8,
    Manner.REGRETTING: 4,
    Manner.TIMING_OUT: 6,
    Manner.DECLINING: 6,
}


@dataclass
class Participant:
    """One person with a place on the platform."""

    platform: Platform
    browser: Browser
    submission: str
    manner: Manner
    chance: random.Random
    say: Callable[[str], None] = lambda _: None

    def live(self) -> str:
        """Take part from the link to the end; return what the platform has then. Raises BadRequest as it comes."""
        link = self.platform.start(self.submission)
        page, n_hits, is_back = self.browser.open(link), 0, False
        for _ in range(MOST_STEPS):
            if page.code:
                return self._finish(page.code)
            if self.manner is Manner.RETURNING and n_hits:
                self.platform.give_back(self.submission)
                return self._end()
            found = self._choose_form(page)
            if found is None:
                if is_back:
                    break
                # As after a test's result: the link leads to what comes next.
                page, is_back = self.browser.open(link), True
                continue
            (form, press), is_back = found, False
            n_hits += form.id == "rating"
            page = self.browser.open(form.action, fill(form, self.chance.choice, press))
        # Nothing to press and no code: they give up, as people do.
        self.platform.give_back(self.submission)
        return self._end()

    def _choose_form(self, page: Page) -> tuple[Form, str] | None:
        """Return the form that leads on, and the button to press."""
        for form in page.forms:
            if form.method.lower() != "post":
                continue
            if form.id == "rating":
                return form, ""
            if "/consent/" in form.action:
                return form, "decline" if self.manner is Manner.DECLINING else "agree"
            if form.action.rstrip("/").endswith(("return", "reopen")):
                continue
            if any(part in form.action for part in ("/work/", "/instructions/", "/qualification/", "/survey")):
                return form, ""
        return None

    def _finish(self, code: str) -> str:
        if self.manner is Manner.TIMING_OUT:
            self.platform.time_out(self.submission)
        self.platform.complete(self.submission, None if self.manner is Manner.NO_CODE else code)
        if self.manner is Manner.REGRETTING and self.platform.submissions[self.submission]["status"] != "RETURNED":
            self.platform.give_back(self.submission)
        return self._end()

    def _end(self) -> str:
        status: str = self.platform.submissions[self.submission]["status"]
        self.say(f"{self.submission[:6]}… {self.manner.value}: {status}")
        return status


def recruit(
    platform: Platform, make_browser: Callable[[], Browser], *, chance: random.Random, say: Callable[[str], None]
) -> Participant | None:
    """Return somebody new with a place in an active study, or None if none has a place."""
    for study in list(platform.studies.values()):
        if study["status"] != "ACTIVE":
            continue
        try:
            submission = platform.reserve(study["id"], platform.draw_participant())
        except BadRequest:
            continue
        manner = chance.choices(list(SHARES), weights=list(SHARES.values()))[0]
        return Participant(platform, make_browser(), submission, manner, chance, say)
    return None
