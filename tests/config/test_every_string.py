"""No page of annotators says a word that cannot be translated: each is read with every sentence marked."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.utils import translation

from annotate.models import OverlapPlan
from annotate.rating import form_parts
from annotate.templatetags import rating as rating_tags
from measures.metrics import METRICS
from projects.models import Candidate, Criterion, Dataset, Membership, Project, User
from projects.people import invitations
from projects.templatetags import ui_strings
from projects.web import cached_templates
from results.models import MetricRun
from tests import sized_projects
from tests.every_page import addresses, make_samples
from tests.factories import make_batch, make_corpus
from tests.people import SignIn
from tests.results.judged_batches import take_file
from tests.routes import all_routes

LETTERS = re.compile(r"[^\W\d_]{2,}")
NOT_SAID = {"code", "kbd", "script", "style", "bdi", "textarea"}
"""The content of these is data, or for machines: names of columns, commands, keys, and texts from outside."""
VOID = {"area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "path", "circle", "line", "rect", "use"}
SPOKEN = ("aria-label", "title", "placeholder", "alt", "label")
NAMES = {
    *("Concord", "UTC", "UTF", "CSV", "TSV", "JSONL", "LaTeX", "Markdown", "SVG", "PNG", "PDF"),
    *("Pearson", "Spearman", "Kendall"),
    *(name for _, name in settings.LANGUAGES),
}
"""Names that are the same in every language."""
LEAST_PAGES = 15


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every sentence that is asked for in another language comes in brackets."""
    trans = vars(translation)["_trans"]
    monkeypatch.setattr(trans, "gettext", lambda message: f"⟦{message}⟧" if message else "")
    monkeypatch.setattr(trans, "ngettext", lambda one, many, n: f"⟦{one if n == 1 else many}⟧")
    monkeypatch.setattr(trans, "pgettext", lambda context, message: f"⟦{message}⟧")
    monkeypatch.setattr(trans, "npgettext", lambda context, one, many, n: f"⟦{one if n == 1 else many}⟧")
    _forget()
    yield
    _forget()


def _forget() -> None:
    """Some parts of pages are kept, by language."""
    for module in (ui_strings, cached_templates, rating_tags, form_parts):
        for each in vars(module).values():
            if hasattr(each, "cache_clear"):
                each.cache_clear()


class Reader(HTMLParser):
    """What a page says, in the order of its source: its texts, and the labels that its tags carry."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if not self._is_data():
            self.texts += [known[name] or "" for name in SPOKEN if name in known]
            self.texts += [text or "" for name, text in attrs if name.startswith("data-confirm")]
        is_english = tag != "html" and known.get("lang") == "en"  # the guides, which are written in English alone
        if tag not in VOID:
            is_data = tag in NOT_SAID or known.get("dir") == "auto" or known.get("translate") == "no"
            self.open.append((tag, is_data or is_english))

    def handle_endtag(self, tag: str) -> None:
        while tag not in VOID and self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not self._is_data():
            self.texts.append(data)

    def _is_data(self) -> bool:
        return any(is_data for _, is_data in self.open)


def names_in(project: Project) -> re.Pattern[str]:
    """What people, or the tests, have called things in the data: pages show it as it is."""
    names = [
        *(project.name, *project.batches.values_list("name", flat=True)),
        *Dataset.objects.filter(project=project).values_list("name", flat=True),
        *Membership.objects.values_list("pseudonym", flat=True),
        *User.objects.values_list("username", flat=True),
        *Criterion.objects.values_list("name", flat=True),
        *Candidate.objects.values_list("source", flat=True),
        *Candidate.objects.values_list("external_id", flat=True),
        *OverlapPlan.objects.values_list("name", flat=True),
        *MetricRun.objects.values_list("title", flat=True),
        *(registered.title for registered in METRICS.values()),
    ]
    for anchors in Criterion.objects.values_list("anchors", flat=True):
        names += [text for anchor in anchors for text in anchor.values() if isinstance(text, str)]
    longest_first = sorted(set(names), key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, filter(None, longest_first)))})(?!\w)")


def bare_words(content: str, names: re.Pattern[str]) -> list[str]:
    """Texts outside of all brackets; a sentence may have tags, and sentences of others, within."""
    depth, bare = 0, []
    reader = Reader()
    reader.feed(content)
    for piece in reader.texts:
        outside = []
        for part in re.split(r"([⟦⟧])", piece):
            depth += {"⟦": 1, "⟧": -1}.get(part, 0)
            if not depth and part not in "⟦⟧":
                outside.append(part)
        bare += [each.strip() for each in outside if set(LETTERS.findall(names.sub("", each))) - NAMES]
    assert not depth, "a sentence was cut, so what follows it was not read"
    return bare


def test_no_page_of_annotators_says_what_cannot_be_translated(
    project: Project,
    owner: Membership,
    annotator: Membership,
    other_annotator: Membership,
    client_of: SignIn,
    tmp_path: Path,
    marked: None,
) -> None:
    User.objects.filter(memberships=owner).update(can_create_projects=True)
    make_corpus(project, n_passages=8, n_candidates=3, name="more")
    sized_projects.run_trial(project)
    sized_projects.make_every_state(make_batch(project, datasets=("more",), name="More"), annotator, other_annotator)
    take_file(project, "question,reference,candidate\nWho?,Ann,Bob\n", "rows.csv", tmp_path)
    _, token = invitations.create_invitation(actor=owner, role=Membership.Role.ANNOTATOR)
    assert owner.user
    assert other_annotator.user
    samples = make_samples(other_annotator, batch=1, token=token)
    names = names_in(project)
    translated = {route.name for route in all_routes() if route.policy is not None and route.policy.is_translated}
    seen, wrong = set(), []
    clients = {"nobody": Client(), "annotator": client_of(other_annotator)}
    for name, who, path in addresses(samples, owner=owner.user, annotator=other_annotator.user):
        if who not in clients or name not in translated:
            continue
        response = clients[who].get(path)
        if response.status_code == 200 and "html" in response.headers["Content-Type"]:
            seen.add(name)
            wrong += [f"{name}: {words}" for words in bare_words(response.content.decode(), names)]
    assert not wrong, "\n".join(dict.fromkeys(wrong))
    assert len(seen) >= LEAST_PAGES, seen
