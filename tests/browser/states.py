"""Makes the pictures of the rating page in every state for docs/img: `make screenshots`."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from playwright.sync_api import Page

from annotate import places
from annotate.models import Assignment, Batch
from config import env
from measures.rubric import FIVE_POINTS, CriterionSpec, Level
from measures.rubric_presets import PRESETS
from projects.models import Membership, Project
from projects.rubric.rubrics import create_from_preset, create_rubric
from tests.annotate.open_batches import add_hit, open_batch
from tests.browser.conftest import PHONE, WIDE, SignedIn
from tests.browser.rating import go_offline, start, wait_for_keys
from tests.browser.screenshots import MOST_BYTES
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_project, make_question

FOLDER = env.BASE_DIR / "docs" / "img" / "states"

PASSAGE = (
    "The salt works",
    """Every spring, when the last frost was over, the families of the bay went down to the salt works and opened the \
sluices. The sea came in over the flat clay, no deeper than a hand, and lay there. Sun and wind did the rest: by June \
the water had gone, and a grey crust was left, which the children were forbidden to walk on.

Old Maren kept the book. She wrote down the day on which each sluice was opened and closed, how many sacks each family \
carried up the hill, and what the carter paid for them. When the tax collector came, in September, he read her book, \
counted nothing himself, and took a tenth. Nobody in the bay could remember that it had ever been otherwise.

In the year of the great rain the crust did not form. Maren wrote a nought beside every name. The collector looked at \
the column of noughts for a long time, closed the book, and asked whether somebody could give him something to eat.""",
)
QUESTIONS = (
    (
        "Why did the tax collector count nothing himself?",
        ("He relied on Maren's book.", "Maren had written down every sack already."),
        (
            "Because old Maren kept a book of every sack, and he read that.",
            "He trusted the book.",
            "He was tired after the journey.",
            "Maren counted the sacks for him in September, one by one, in front of the families.",
            "The children were forbidden to walk on the crust.",
        ),
    ),
    (
        "What did the families carry up the hill?",
        ("Sacks of salt.",),
        ("Salt, in sacks.", "The sacks of salt that the carter then paid for.", "Water", "Sacks", "Old Maren's book"),
    ),
)
ARABIC = (
    "ملّاحات الخليج",
    """في كل ربيع، بعد آخر صقيع، كانت عائلات الخليج تنزل إلى الملّاحات وتفتح البوابات. كان البحر يدخل \
فوق الطين المستوي، لا يزيد عمقه على كفّ، ثم تتكفّل الشمس والريح بالباقي.

كانت العجوز مريم تمسك الدفتر: تكتب فيه يوم فتح كل بوابة ويوم إغلاقها، وعدد الأكياس التي حملتها \
كل عائلة إلى أعلى التل. وحين يأتي الجابي في أيلول كان يقرأ دفترها، ولا يعدّ شيئاً بنفسه، ويأخذ \
العُشر.""",
)
ARABIC_QUESTIONS = (
    (
        "لماذا لم يعدّ الجابي شيئاً بنفسه؟",
        ("لأنه اعتمد على دفتر مريم.",),
        ("لأنه كان يثق بالدفتر.", "لأنه كان متعباً من السفر.", "كانت مريم قد كتبت كل كيس.", "بسبب المطر (rain)."),
    ),
)
CRITERIA = tuple(
    CriterionSpec(key=key, name=name, statement=statement, scale=FIVE_POINTS, level=Level.ORDINAL)
    for key, name, statement in (
        ("correct", "Correct", "Is what it says right?"),
        ("complete", "Complete", "Does it say all that was asked?"),
        ("brief", "Brief", "Does it say no more than that?"),
    )
)

Texts = tuple[str, str]
Questions = tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]


@pytest.fixture
def annotator(live_site: object) -> Membership:
    return make_membership(make_project("salt", name="Stories of the bay", revision_minutes=10))


def give(project: Project, title: Texts = PASSAGE, questions: Questions = QUESTIONS, **over: Any) -> Batch:
    """A batch of one HIT with these texts."""
    batch = open_batch(project, n_hits=0, cents_per_hit=40, **over)
    passage = make_passage(make_dataset(project), title=title[0], text=title[1])
    candidates = []
    for text, references, answers in questions:
        question = make_question(passage, text=text, references=references)
        candidates += [make_candidates(question, 1, text=answer)[0] for answer in answers]
    add_hit(batch, candidates, 0)
    return batch


def open_page(signed_in: SignedIn, annotator: Membership, **look: Any) -> Page:
    page = signed_in(annotator.user, **{"viewport": WIDE, "color_scheme": "light", **look})
    start(page, annotator.project)
    wait_for_keys(page)
    return page


def rate(page: Page, keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)
    page.locator("[data-saved]").get_by_text("Saved").wait_for()


def shoot(page: Page, name: str) -> None:
    page.wait_for_timeout(600)  # the page glides to the current item
    FOLDER.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=FOLDER / f"{name}.png")


def test_the_course_of_one_hit(signed_in: SignedIn, annotator: Membership) -> None:
    give(annotator.project)
    page = open_page(signed_in, annotator)
    shoot(page, "empty")
    rate(page, "54151")
    shoot(page, "half-rated")
    page.keyboard.press("Control+Enter")
    shoot(page, "summary")
    go_offline(page)
    page.keyboard.press("j")
    for key in "54":
        page.keyboard.press(key)
    page.locator("[data-state=kept]").wait_for()
    shoot(page, "offline")
    page.context.set_offline(False)
    page.locator("[data-state=saved]").wait_for()
    page.reload()
    wait_for_keys(page)
    rate(page, "123")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/desk/")
    shoot(page, "submitted")
    assert Assignment.objects.submitted().count() == 1


def test_expired(signed_in: SignedIn, annotator: Membership) -> None:
    give(annotator.project)
    page = open_page(signed_in, annotator)
    rate(page, "54")
    Assignment.objects.update(due_at=Now() - timedelta(hours=2))
    places.sweep(project_id=annotator.project_id)
    page.reload()
    shoot(page, "expired")


def test_right_to_left(signed_in: SignedIn, annotator: Membership) -> None:
    Project.objects.update(language="ar")
    give(annotator.project, ARABIC, ARABIC_QUESTIONS)
    page = signed_in(annotator.user, viewport=WIDE)
    page.goto(f"/p/{annotator.project.slug}/desk/")
    page.locator("form[action$='/work/'] button, form[action$='start/'] button").first.click()
    wait_for_keys(page)
    page.keyboard.press("4")
    shoot(page, "right-to-left")


def several(project: Project) -> None:
    create_rubric(project, name="Three criteria", preset="custom", criteria=CRITERIA)


def sliders(project: Project) -> None:
    create_from_preset(project, PRESETS["qascore"].key)


@pytest.mark.parametrize(("name", "make", "keys"), [("several-criteria", several, "534"), ("slider", sliders, "")])
def test_other_rubrics(
    signed_in: SignedIn, annotator: Membership, name: str, make: Callable[[Project], None], keys: str
) -> None:
    make(annotator.project)
    give(annotator.project)
    page = open_page(signed_in, annotator)
    if keys:
        rate(page, keys)
    else:
        page.locator("input[data-number]").first.fill("72.5")
    shoot(page, name)


def test_one_at_a_time(signed_in: SignedIn, annotator: Membership) -> None:
    give(annotator.project, presentation=Batch.Presentation.ONE)
    page = open_page(signed_in, annotator)
    rate(page, "4")
    shoot(page, "one-at-a-time")


def test_dark_and_on_a_phone(signed_in: SignedIn, annotator: Membership) -> None:
    give(annotator.project)
    page = open_page(signed_in, annotator, color_scheme="dark")
    rate(page, "52")
    shoot(page, "dark")
    page = open_again(signed_in, annotator, viewport=PHONE, has_touch=True)
    shoot(page, "phone")
    page = open_again(signed_in, annotator, viewport=PHONE, has_touch=True, color_scheme="dark")
    page.locator("[data-passage-toggle], .passage summary").first.click()
    shoot(page, "phone-passage")


def open_again(signed_in: SignedIn, annotator: Membership, **look: Any) -> Page:
    page = signed_in(annotator.user, **look)
    page.goto(f"/p/{annotator.project.slug}/desk/")
    page.get_by_role("link", name="Continue rating").click()
    wait_for_keys(page)
    return page


def test_none_is_heavy() -> None:
    assert [path.name for path in FOLDER.glob("*.png") if path.stat().st_size > MOST_BYTES] == []
