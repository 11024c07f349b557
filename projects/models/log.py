"""The audit log: who did what to what, and why. Rows are only added."""

from django.db import models
from django.db.models.functions import Now

from projects.models.people import Membership, Project


class Act(models.TextChoices):
    """Everything that is logged. The values are stored for good; `projects/log/messages.py` has a verb for each."""

    ACCEPT_CONTROLS = "accept controls"
    ACCEPT_WORK_AFTER_ALL = "accept work after all"
    ACT_ON_FINDING = "act on a finding"
    ADD_PANEL = "add panel"
    ADD_QUALIFICATION_ITEMS = "add qualification items"
    ADD_WEBHOOK = "add webhook"
    ADJUDICATE = "adjudicate"
    ADJUST_PAY = "adjust pay"
    AGREE_TO_CONSENT = "agree to consent"
    ANSWER_REJECTION = "answer rejection"
    APPROVE_PAY = "approve pay"
    APPROVE_PROLIFIC_SUBMISSIONS = "approve Prolific submissions"
    APPROVE_WORK = "approve work"
    ARCHIVE_BATCH = "archive batch"
    ASK_FOR_JUDGMENT_SET = "ask for judgment set"
    ASK_FOR_STUDY = "ask for study"
    CANCEL_PROLIFIC_BONUSES = "cancel Prolific bonuses"
    CHANGE_CAPS = "change caps"
    CHANGE_CONSENT = "change consent"
    CHANGE_DOI = "change DOI"
    CHANGE_GOLD_RULE = "change gold rule"
    CHANGE_INSTRUCTIONS = "change instructions"
    CHANGE_MINIMAL_PAIR = "change minimal pair"
    CHANGE_PANEL = "change panel"
    CHANGE_PLAN = "change plan"
    CHANGE_QUALIFICATION_TEST = "change qualification test"
    CHANGE_QUALITY_RULES = "change quality rules"
    CHANGE_ROLE = "change role"
    CHANGE_RUBRIC = "change rubric"
    CHANGE_SETTINGS = "change settings"
    CHANGE_SHORT_HIT_PAY = "change pay of short HITs"
    CHANGE_STANDING = "change standing"  # only in old entries: the acts of moderation have their own names
    CHANGE_SURVEY = "change survey"
    CHANGE_WHETHER_ANNOTATES = "change whether annotates"
    CHOOSE_HUMAN_SOURCES = "choose human sources"
    CLOSE_BATCH = "close batch"
    CLOSE_QUALIFICATION_TEST = "close qualification test"
    CONNECT_PROLIFIC = "connect Prolific"
    COUNT_JUDGMENT_AGAIN = "count judgment again"
    COUNT_SESSION_AGAIN = "count session again"
    CREATE_PROJECT = "create project"
    DELETE_BATCH = "delete batch"
    DELETE_METRIC_RUN = "delete metric run"
    DELETE_MINIMAL_PAIR = "delete minimal pair"
    DELETE_PROJECT = "delete project"
    DELETE_STUDY = "delete study"
    DELETE_TRAINING = "delete training"
    DELETE_WEBHOOK = "delete webhook"
    DISABLE_ACCOUNT = "disable account"
    DISCONNECT_PROLIFIC = "disconnect Prolific"
    DISMISS_FINDING = "dismiss a finding"
    DOWNLOAD_PAYMENT = "download payment"
    DRAFT_PROLIFIC_STUDY = "draft Prolific study"
    DOWNLOAD_SURVEY = "download survey"
    DRAW_SPOT_CHECKS = "draw spot checks"
    EDIT_CONTROL = "edit control"
    EDIT_QUALIFICATION_ITEM = "edit qualification item"
    ENABLE_ACCOUNT = "enable account"
    END_PANEL = "end panel"
    END_SURVEY = "end survey"
    ERASE_ACCOUNT = "erase account"
    EXCLUDE_SESSION = "exclude session"
    FAIL_QUALIFICATION_TEST = "fail qualification test"
    FIND = "find"
    FINISH_REVIEW = "finish a review"
    FREEZE_JUDGMENT_SET = "freeze judgment set"
    GIVE_BONUS = "give bonus"
    GRANT_QUALIFICATION = "grant qualification"
    IMPORT_CANDIDATES = "import candidates"
    IMPORT_JUDGMENTS = "import judgments"
    INVITE = "invite"
    ISSUE_RESET_LINK = "issue reset link"
    JOIN = "join"
    LET_IN = "let in"
    MAKE_BATCH = "make batch"
    MAKE_CONTROLS = "make controls"
    MAKE_PARTICIPANT_GROUPS = "make participant groups"
    MAKE_PAYMENT = "make payment"
    MAKE_PLAN = "make plan"
    MAKE_QUALIFICATION_TEST = "make qualification test"
    MAKE_TOKEN = "make token"  # noqa: S105
    MOVE_QUALIFICATION_TEST = "move qualification test"
    MOVE_SESSION = "move session"
    NAME_CAUSE_OF_ERROR = "name cause of error"
    OPEN_BATCH = "open batch"
    OPEN_QUALIFICATION_TEST = "open qualification test"
    PASS_QUALIFICATION_TEST = "pass qualification test"  # noqa: S105
    PAUSE_BATCH = "pause batch"
    PAUSE_PROLIFIC_STUDY = "pause Prolific study"
    PAY_PROLIFIC_BONUSES = "pay Prolific bonuses"
    PIN_VERSIONS = "pin versions"
    PLAN_CONTROLS = "plan controls"
    PUBLISH_PROLIFIC_STUDY = "publish Prolific study"
    RAISE_PROLIFIC_PLACES = "raise Prolific places"
    RATE_FOR_REVIEW = "rate for a review"
    READ_INSTRUCTIONS = "read instructions"
    READ_MESSAGE = "read message"
    REJECT_PROLIFIC_SUBMISSION = "reject Prolific submission"
    REJECT_WORK = "reject work"
    REMOVE = "remove"
    RENEW_DEMO_PASSWORDS = "renew demo passwords"
    RENEW_PROLIFIC_SECRET = "renew Prolific secret"  # noqa: S105
    RENEW_WEBHOOK_SECRET = "renew webhook secret"  # noqa: S105
    REOPEN_BATCH = "reopen batch"
    RESET_SECOND_FACTOR = "reset second factor"
    RESOLVE_REMARK = "resolve remark"
    RESTORE = "restore"
    RESTORE_PROJECT = "restore project"
    RETIRE_CONTROLS = "retire controls"
    RETIRE_JUDGMENT_SET = "retire judgment set"
    REPLACE_JUDGMENT_SET = "replace judgment set"
    RETIRE_QUALIFICATION_ITEM = "retire qualification item"
    REVISE_WORK = "revise work"
    REVOKE_INVITATION = "revoke invitation"
    REVOKE_QUALIFICATION = "revoke qualification"
    REVOKE_TOKEN = "revoke token"  # noqa: S105
    ROTATE_TOKEN = "rotate token"  # noqa: S105
    RUN_METRIC = "run metric"
    SETTLE_PROLIFIC_BONUSES = "settle Prolific bonuses"
    SET_JUDGMENT_ASIDE = "set judgment aside"
    SET_UP_PROLIFIC_BONUSES = "set up Prolific bonuses"
    SPLIT_PASSAGES = "split passages"
    START_PLAN = "start plan"
    START_PROLIFIC_STUDY = "start Prolific study"
    SUSPEND = "suspend"
    TAKE_BACK_ADJUDICATION = "take back adjudication"
    TAKE_SCORES = "take scores"
    TAKE_UP_REMARK_AGAIN = "take up remark again"
    TRAIN_METRIC = "train metric"
    TURN_OFF_WEBHOOK = "turn off webhook"
    TURN_ON_WEBHOOK = "turn on webhook"
    WANT_JUDGMENTS = "want judgments"
    WARN = "warn"
    WITHDRAW_CANDIDATE = "withdraw candidate"
    WITHDRAW_CONSENT = "withdraw consent"
    WITHDRAW_PASSAGE = "withdraw passage"
    WRITE_MINIMAL_PAIR = "write minimal pair"


class LogEntry(models.Model):
    """One act by a member, or by the system. A trigger refuses changes; a row contains no personal data."""

    # No index on the foreign keys: the page reads by `log_newest`, and every act writes a row.
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="log", db_index=False)
    actor = models.ForeignKey(
        Membership, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    act = models.CharField(max_length=60)
    object_type = models.CharField(max_length=40, blank=True)
    object_id = models.CharField(max_length=60, blank=True)
    before = models.JSONField(null=True, blank=True)
    after = models.JSONField(null=True, blank=True)
    why = models.TextField(blank=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "log entries"
        indexes = [models.Index(fields=["project", "-id"], name="log_newest")]

    def __str__(self) -> str:
        return f"{self.act} {self.object_type} {self.object_id}"
