"""Which acts make which figures stale."""

from projects.models import Act, FigureChange

Reach = FigureChange.Reach

ANNOTATORS = frozenset(
    (
        *(Act.REJECT_WORK, Act.ACCEPT_WORK_AFTER_ALL, Act.REMOVE, Act.RESTORE),
        *(Act.SET_JUDGMENT_ASIDE, Act.COUNT_JUDGMENT_AGAIN),
        *(Act.WITHDRAW_CANDIDATE, Act.WITHDRAW_PASSAGE, Act.WITHDRAW_CONSENT, Act.CHANGE_QUALITY_RULES),
        Act.ERASE_ACCOUNT,
        *(Act.EXCLUDE_SESSION, Act.COUNT_SESSION_AGAIN),
    )
)
"""Acts that change which judgments count, or the quality rules: every annotator is compared with the others again."""

NOTHING = frozenset(
    (
        *(Act.INVITE, Act.JOIN, Act.REVOKE_INVITATION, Act.ISSUE_RESET_LINK, Act.RENEW_DEMO_PASSWORDS),
        *(Act.RESET_SECOND_FACTOR, Act.DISABLE_ACCOUNT, Act.ENABLE_ACCOUNT),
        *(Act.MAKE_TOKEN, Act.REVOKE_TOKEN, Act.ROTATE_TOKEN, Act.READ_INSTRUCTIONS, Act.READ_MESSAGE, Act.WARN),
        *(
            Act.CHANGE_SHORT_HIT_PAY,
            Act.APPROVE_PAY,
            Act.ADJUST_PAY,
            Act.GIVE_BONUS,
            Act.MAKE_PAYMENT,
            Act.DOWNLOAD_PAYMENT,
        ),
        *(Act.ASK_FOR_STUDY, Act.DELETE_STUDY, Act.NAME_CAUSE_OF_ERROR, Act.RUN_METRIC, Act.DELETE_METRIC_RUN),
        *(Act.TAKE_SCORES, Act.ASK_FOR_JUDGMENT_SET, Act.FREEZE_JUDGMENT_SET, Act.RETIRE_JUDGMENT_SET),
        *(Act.REPLACE_JUDGMENT_SET, Act.CHANGE_DOI, Act.CHOOSE_HUMAN_SOURCES),
        *(Act.ADD_WEBHOOK, Act.DELETE_WEBHOOK, Act.RENEW_WEBHOOK_SECRET, Act.TURN_OFF_WEBHOOK, Act.TURN_ON_WEBHOOK),
        *(Act.ADD_PANEL, Act.CHANGE_PANEL, Act.END_PANEL, Act.LET_IN, Act.MOVE_SESSION),
        *(Act.CONNECT_PROLIFIC, Act.DISCONNECT_PROLIFIC, Act.RENEW_PROLIFIC_SECRET, Act.MAKE_PARTICIPANT_GROUPS),
        *(Act.DRAFT_PROLIFIC_STUDY, Act.PUBLISH_PROLIFIC_STUDY, Act.PAUSE_PROLIFIC_STUDY, Act.START_PROLIFIC_STUDY),
        *(Act.RAISE_PROLIFIC_PLACES, Act.APPROVE_PROLIFIC_SUBMISSIONS, Act.REJECT_PROLIFIC_SUBMISSION),
        *(Act.SET_UP_PROLIFIC_BONUSES, Act.PAY_PROLIFIC_BONUSES, Act.SETTLE_PROLIFIC_BONUSES),
        Act.CANCEL_PROLIFIC_BONUSES,
        *(Act.CHANGE_SURVEY, Act.END_SURVEY, Act.DOWNLOAD_SURVEY),
        *(Act.FIND, Act.DISMISS_FINDING, Act.ACT_ON_FINDING),
    )
)
"""Acts that no figure depends on. An act that is not listed makes results stale: too often rather than never."""
