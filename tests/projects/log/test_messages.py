"""Every act that the code records is a sentence that anybody can read; the database keeps each line as written."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import InternalError, connection, transaction
from django.template import Context, Template
from django.test import Client
from django.urls import reverse

from projects import log
from projects.log.messages import Named, describe_act
from projects.models import Act, LogEntry, Membership, Passage, Project
from tests.annotate.open_batches import open_batch
from tests.annotate.submitted_work import rate
from tests.page_reader import read

ROOT = Path(__file__).parents[3]
APPS = ("annotate", "projects", "results", "demo", "config")

SAID = {
    "draft Prolific study": ("panel 3", "drafted the Prolific study of panel 3"),
    "publish Prolific study": ("panel 3", "published the Prolific study of panel 3"),
    "pause Prolific study": ("panel 3", "paused the Prolific study of panel 3"),
    "start Prolific study": ("panel 3", "started the Prolific study of panel 3"),
    "raise Prolific places": ("panel 3", "raised the maximum places of the Prolific study of panel 3"),
    "approve Prolific submissions": ("panel 3", "approved submissions on Prolific of panel 3"),
    "set up Prolific bonuses": ("panel 3", "set up bonuses on Prolific for panel 3"),
    "pay Prolific bonuses": ("panel 3", "paid bonuses on Prolific for panel 3"),
    "settle Prolific bonuses": ("panel 3", "noted what happened to bonuses of panel 3"),
    "cancel Prolific bonuses": ("panel 3", "cancelled bonuses of panel 3"),
    "make participant groups": ("panel 3", "created participant groups on Prolific for panel 3"),
    "connect Prolific": ("project x", "connected a Prolific account to project x"),
    "disconnect Prolific": ("project x", "disconnected Prolific from project x"),
    "renew Prolific secret": ("project x", "renewed the secret of Prolific’s messages to project x"),
    "reject Prolific submission": ("membership a-x", "rejected the submission on Prolific of membership a-x"),
    "accept controls": ("batch 3", "approved control items of batch 3"),
    "accept work after all": ("assignment 3", "reversed the rejection of assignment 3"),
    "act on a finding": ("membership a-x", "acted on an alert about membership a-x"),
    "add qualification items": ("qualification test 3", "added items to qualification test 3"),
    "adjudicate": ("candidate 3", "adjudicated candidate 3"),
    "adjust pay": ("membership a-x", "adjusted the pay of membership a-x"),
    "agree to consent": ("consent 3", "agreed to consent 3"),
    "answer rejection": ("assignment 3", "replied to the rejection of assignment 3"),
    "approve pay": ("", "approved the pay for qualification tests"),
    "approve work": ("assignment 3", "approved assignment 3"),
    "archive batch": ("batch 3", "archived batch 3"),
    "change caps": ("batch 3", "changed the limits of batch 3"),
    "change consent": ("consent 3", "changed consent 3"),
    "change gold rule": ("", "changed the gold-score method"),
    "change instructions": ("instructions 3", "changed instructions 3"),
    "change minimal pair": ("minimal pair 3", "changed minimal pair 3"),
    "change pay of short HITs": ("batch 3", "changed the pay for short HITs of batch 3"),
    "change plan": ("overlap plan 3", "changed overlap plan 3"),
    "change qualification test": ("qualification test 3", "changed qualification test 3"),
    "change quality rules": ("", "changed the quality rules"),
    "change role": ("membership a-x", "changed the role of membership a-x"),
    "change rubric": ("rubric 3", "changed rubric 3"),
    "change settings": ("", "changed the project settings"),
    "change standing": ("membership a-x", "changed the status of membership a-x"),
    "change whether annotates": ("membership a-x", "changed the annotating right of membership a-x"),
    "choose human sources": ("", "chose what to do with human sources"),
    "close batch": ("batch 3", "closed batch 3"),
    "close qualification test": ("qualification test 3", "closed qualification test 3"),
    "count judgment again": ("assignment 3", "counted a judgment again in assignment 3"),
    "create project": ("", "created the project"),
    "delete batch": ("batch 3", "deleted batch 3"),
    "delete metric run": ("metric run 3", "deleted metric run 3"),
    "delete minimal pair": ("minimal pair 3", "deleted minimal pair 3"),
    "delete project": ("", "deleted the project"),
    "disable account": ("membership a-x", "disabled the account of membership a-x"),
    "dismiss a finding": ("membership a-x", "dismissed an alert about membership a-x"),
    "download payment": ("payment 3", "downloaded the payment file, with names, of payment 3"),
    "draw spot checks": ("", "drew spot checks"),
    "edit control": ("batch 3", "edited a control item of batch 3"),
    "enable account": ("membership a-x", "enabled the account of membership a-x"),
    "erase account": ("membership a-x", "deleted the account of membership a-x"),
    "edit qualification item": ("qualification item 3", "edited qualification item 3"),
    "fail qualification test": ("attempt 3", "failed the qualification test with attempt 3"),
    "ask for judgment set": ("judgment set 3", "requested judgment set 3"),
    "ask for study": ("study 3", "requested study 3"),
    "delete study": ("study 3", "deleted study 3"),
    "freeze judgment set": ("judgment set 3", "froze judgment set 3"),
    "change DOI": ("judgment set 3", "changed the DOI of judgment set 3"),
    "retire judgment set": ("judgment set 3", "retired judgment set 3"),
    "replace judgment set": ("judgment set 3", "named the replacement of judgment set 3"),
    "find": ("membership a-x", "raised an alert about membership a-x"),
    "finish a review": ("membership a-x", "completed a spot check of membership a-x"),
    "give bonus": ("membership a-x", "gave a bonus to membership a-x"),
    "grant qualification": ("membership a-x", "granted the qualification to membership a-x"),
    "import candidates": ("import 3", "imported candidates from import 3"),
    "import judgments": ("import 3", "imported judgments from import 3"),
    "invite": ("invitation 3", "created invitation 3"),
    "issue reset link": ("membership a-x", "created a password reset link for membership a-x"),
    "join": ("membership a-x", "joined the project as membership a-x"),
    "make batch": ("batch 3", "created batch 3"),
    "make controls": ("batch 3", "created control items of batch 3"),
    "make payment": ("payment 3", "created payment 3"),
    "make plan": ("overlap plan 3", "created overlap plan 3"),
    "make qualification test": ("qualification test 3", "created qualification test 3"),
    "make token": ("API token 3", "created API token 3"),
    "move qualification test": ("qualification test 3", "changed the rubric of qualification test 3"),
    "name cause of error": ("study 3", "entered the cause of an error in study 3"),
    "open batch": ("batch 3", "opened batch 3"),
    "open qualification test": ("qualification test 3", "opened qualification test 3"),
    "pass qualification test": ("attempt 3", "passed the qualification test with attempt 3"),
    "pause batch": ("batch 3", "paused batch 3"),
    "pin versions": ("batch 3", "updated rubric, instructions and consent of batch 3"),
    "plan controls": ("batch 3", "planned control items of batch 3"),
    "rate for a review": ("membership a-x", "rated blind for a spot check of membership a-x"),
    "read instructions": ("instructions 3", "read instructions 3"),
    "read message": ("notice 3", "confirmed reading notice 3"),
    "reject work": ("assignment 3", "rejected assignment 3"),
    "remove": ("membership a-x", "removed membership a-x"),
    "renew demo passwords": ("", "renewed the demo passwords"),
    "reopen batch": ("batch 3", "reopened batch 3"),
    "reset second factor": ("membership a-x", "reset the second factor of membership a-x"),
    "resolve remark": ("remark 3", "resolved remark 3"),
    "restore project": ("", "restored the project"),
    "restore": ("membership a-x", "restored membership a-x"),
    "retire controls": ("batch 3", "retired control items of batch 3"),
    "retire qualification item": ("qualification item 3", "retired qualification item 3"),
    "revise work": ("assignment 3", "revised assignment 3"),
    "revoke invitation": ("invitation 3", "revoked invitation 3"),
    "revoke qualification": ("membership a-x", "revoked the qualification of membership a-x"),
    "revoke token": ("API token 3", "revoked API token 3"),
    "rotate token": ("API token 3", "rotated API token 3"),
    "run metric": ("metric run 3", "requested metric run 3"),
    "set judgment aside": ("assignment 3", "set aside a judgment in assignment 3"),
    "split passages": ("", "assigned splits to passages"),
    "start plan": ("overlap plan 3", "started overlap plan 3"),
    "suspend": ("membership a-x", "suspended membership a-x"),
    "take back adjudication": ("candidate 3", "withdrew the adjudicated score of candidate 3"),
    "take scores": ("score file 3", "imported scores from score file 3"),
    "take up remark again": ("remark 3", "reopened remark 3"),
    "want judgments": ("batch 3", "changed the number of judgments of batch 3"),
    "warn": ("membership a-x", "warned membership a-x"),
    "withdraw candidate": ("candidate 3", "withdrew candidate 3"),
    "withdraw consent": ("membership a-x", "withdrew the consent of membership a-x"),
    "write minimal pair": ("minimal pair 3", "created minimal pair 3"),
    "add panel": ("panel 3", "added panel 3"),
    "change panel": ("panel 3", "changed panel 3"),
    "end panel": ("panel 3", "ended panel 3"),
    "change survey": ("survey 3", "saved survey 3"),
    "end survey": ("survey 3", "stopped asking survey 3"),
    "download survey": ("", "downloaded answers to surveys"),
    "let in": ("membership a-x", "let in, from another browser, membership a-x"),
    "move session": ("membership a-x", "recorded the state of a session of membership a-x"),
    "exclude session": ("membership a-x", "excluded the work of a session of membership a-x"),
    "count session again": ("membership a-x", "counted the work of a session again, of membership a-x"),
    "add webhook": ("webhook 3", "added webhook 3"),
    "delete webhook": ("webhook 3", "deleted webhook 3"),
    "renew webhook secret": ("webhook 3", "renewed the secret of webhook 3"),
    "delete training": ("training 3", "deleted training 3"),
    "train metric": ("training 3", "requested training 3"),
    "turn off webhook": ("webhook 3", "turned off webhook 3"),
    "turn on webhook": ("webhook 3", "turned on webhook 3"),
    "withdraw passage": ("passage 3", "withdrew passage 3"),
}
"""Each act, what it is done to, and how it reads after the name of whoever did it."""


@pytest.mark.parametrize("act", sorted(SAID))
def test_an_act_reads_as_a_sentence(act: str) -> None:
    name, sentence = SAID[act]
    of = Named(name.rpartition(" ")[0], name) if name else None
    assert f"{describe_act(act, of)} {name}".strip() == sentence


def test_every_act_has_been_read_as_a_sentence() -> None:
    assert set(Act.values) == set(SAID)


def test_what_is_done_to_many_things_at_once_names_none() -> None:
    assert describe_act("approve work", None) == "approved submissions"
    assert describe_act("reject work", None) == "rejected submissions"


def test_on_the_page_of_somebody_the_acts_are_sentences_too() -> None:
    page = Template("{% load wording %}{{ act|done_to:name }}")
    assert page.render(Context({"act": "give bonus", "name": "a-x"})) == "gave a bonus to a-x"
    assert page.render(Context({"act": "set judgment aside", "name": "this work"})) == (
        "set aside a judgment in this work"
    )


@pytest.mark.django_db
def test_a_line_leads_to_what_it_is_about(
    manager: Membership, annotator: Membership, client_of: Callable[[Membership], Client]
) -> None:
    project = manager.project
    open_batch(project, n_hits=1)
    (work,) = rate(annotator)
    passage = Passage.objects.filter(dataset__project=project).latest("pk")
    Passage.objects.filter(pk=passage.pk).update(external_id="\u202e" + "<b>p" * 49)
    log.record(project, manager, Act.APPROVE_WORK, work)
    log.record(project, manager, Act.WITHDRAW_PASSAGE, passage)
    page = client_of(manager).get(reverse("projects:log-list", args=[project.slug])).content.decode()
    assert reverse("annotate:assignment-show", args=[project.slug, work.uuid]) in page
    assert reverse("annotate:passage-show", args=[project.slug, passage.pk]) in page
    lines = [row["Action"] for row in read(page).rows("Audit log")]
    assert any(line.startswith(f"{manager.pseudonym} (you) approved assignment {work.pk}") for line in lines)
    assert any(line.startswith(f"{manager.pseudonym} (you) withdrew passage \u202e<b>p") for line in lines)
    assert max(map(len, lines)) < 160


@pytest.mark.django_db
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE projects_logentry SET why = 'another reason'",
        "UPDATE projects_logentry SET actor_id = NULL",
        "DELETE FROM projects_logentry",
        "TRUNCATE projects_logentry",
    ],
)
def test_the_database_refuses_to_change_a_line(project: Project, manager: Membership, change: str) -> None:
    written = log.record(project, manager, Act.WARN, manager, why="the first reason")
    with pytest.raises(InternalError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET CONSTRAINTS ALL IMMEDIATE; {change}")
    kept = LogEntry.objects.get(pk=written.pk)
    assert (kept.why, kept.actor) == ("the first reason", manager)
