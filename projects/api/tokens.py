"""Creating, rotating, revoking and using API tokens. The secret is shown once, and only its hash is stored."""

import hashlib
import uuid
from datetime import timedelta

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from projects import log
from projects.database.prepared import Columns, fetch_one
from projects.errors import Refused, TooManyRequests
from projects.models import Act, ApiToken, Membership, Project, User
from projects.web.keyed_forms import make_secret

HOW_TO_GET_ONE = "Create a new one in the project, under Admin › API tokens."
MARK = "concord_"
"""The beginning of every token, by which people and scanners of source code recognise one."""
SHOWN = len(MARK) + 6
"""Characters of a token that are stored and shown, so that its owner can tell it from others."""
DEFAULT_DAYS = 90
MOST_DAYS = 365
"""How long a token is valid where nothing is chosen, and at most: a forgotten one ends by itself."""
MOST_USABLE = 20
"""Active tokens of one member."""
OVERLAP = timedelta(days=1)
"""How long a rotated token still works: scripts can be changed one after another."""
MINUTE = timedelta(minutes=1)
_TOKEN, _MEMBER = Columns(ApiToken, "t"), Columns(Membership, "m")
_PROJECT, _USER = Columns(Project, "p"), Columns(User, "u")
# Every request of a script begins with this statement. To put it together and to plan it takes longer than to run it.
_FETCH_TOKEN = f"""
SELECT {_TOKEN.sql}, {_MEMBER.sql}, {_PROJECT.sql}, {_USER.sql}
FROM projects_apitoken t
JOIN projects_membership m ON m.id = t.membership_id
JOIN projects_project p ON p.id = m.project_id
LEFT JOIN projects_user u ON u.id = m.user_id
WHERE t.token_sha256 = %(sha256)s::varchar
"""


@transaction.atomic
def make_token(
    *,
    membership: Membership,
    name: str,
    can_write: bool = False,
    days: int = DEFAULT_DAYS,
    key: uuid.UUID | None = None,
) -> tuple[ApiToken, str]:
    """Create a token for one's own membership, and return the row and the secret, which is not stored.

    The same key again is the same token. A token that writes still allows only what its member may do at the time of
    each request. Raises Refused for annotators, for an invalid number of days, and beyond MOST_USABLE active tokens.
    """
    # The lock keeps two requests at once from both creating the last token that is allowed.
    member = Membership.objects.select_for_update(no_key=True).get(pk=membership.pk)
    if not (member.is_active and member.can_read):
        raise Refused("Only researchers and managers of this project can use the API.")
    if not 1 <= days <= MOST_DAYS:
        raise Refused(f"Enter a validity of 1 to {MOST_DAYS} days.")
    secret = MARK + make_secret("token", membership, key)
    if (created := find_token(secret)) is not None:
        if explain_end(created):
            raise Refused("This token was already created and has ended. Open this page again for another one.")
        return created, secret
    if member.tokens.usable(timezone.now()).count() >= MOST_USABLE:
        raise Refused(f"You already have {MOST_USABLE} active tokens in this project. Revoke one first.")
    token = _write(membership, secret, name=name, can_write=can_write, life=timedelta(days=days))
    log.record(membership.project, membership, Act.MAKE_TOKEN, token, after=_described(token))
    return token, secret


@transaction.atomic
def rotate(*, token: ApiToken, key: uuid.UUID | None = None) -> tuple[ApiToken, str]:
    """Create a successor with the same name, access and validity; the old token works for one more day.

    The same key again is the same successor. Raises Refused if the token or that successor has expired or was revoked.
    """
    now = timezone.now()
    rows = ApiToken.objects.usable(now).select_for_update(no_key=True, of=("self",))
    old = rows.select_related("membership__project").filter(pk=token.pk).first()
    if old is None:
        raise Refused("This token has expired. Create a new one.")
    secret = MARK + make_secret(f"successor of token {old.pk}", old.membership, key)
    if (created := find_token(secret)) is not None:
        if explain_end(created):
            raise Refused("This token was already rotated, and its successor has ended. Open this page again.")
        return created, secret
    life = old.expires_at - old.created_at
    fresh = _write(old.membership, secret, name=old.name, can_write=old.can_write, life=life)
    # Never later than before: rotating a token must not make the old one live longer.
    ApiToken.objects.filter(pk=old.pk).update(expires_at=min(old.expires_at, now + OVERLAP))
    log.record(old.membership.project, old.membership, Act.ROTATE_TOKEN, old, after=_described(fresh))
    return fresh, secret


@transaction.atomic
def revoke(*, token: ApiToken, actor: Membership) -> None:
    """Revoke a token from the next request on; revoking it again does nothing."""
    if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        log.record(actor.project, actor, Act.REVOKE_TOKEN, token)


def find_token(secret: str) -> ApiToken | None:
    """Return the token with this secret, also an expired or revoked one, or None."""
    values = fetch_one(_FETCH_TOKEN, {"sha256": _hash(secret)})
    if values is None:
        return None
    token, member = _TOKEN.take(values), _MEMBER.take(values)
    member.project = _PROJECT.take(values)
    # An account that was erased leaves its membership, and here only empty columns.
    member.user = _USER.take(values) if member.user_id is not None else None
    token.membership = member
    return token


def explain_end(token: ApiToken) -> str:
    """Return why a token no longer works, as a sentence; empty while it works."""
    if token.revoked_at is not None:
        return f"This token has been revoked. {HOW_TO_GET_ONE}"
    return f"This token has expired. {HOW_TO_GET_ONE}" if token.expires_at <= timezone.now() else ""


def count_use(token: ApiToken) -> None:
    """Count one request of a token. Raises TooManyRequests beyond the limit of a minute."""
    # One statement, so that simultaneous requests are all counted. The subquery locks the row before it decides whether
    # the minute is over: without FOR UPDATE a request that waited for the row would decide by its old values. A minute
    # that lies ahead is of a clock that was set back since.
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE projects_apitoken t SET last_used_at = now(),
                      minute_at = CASE WHEN x.is_over THEN now() ELSE t.minute_at END,
                      n_in_minute = CASE WHEN x.is_over THEN 1 ELSE t.n_in_minute + 1 END
               FROM (SELECT id, coalesce(abs(extract(epoch FROM now() - minute_at)) > %(seconds)s, true) AS is_over
                     FROM projects_apitoken WHERE id = %(id)s FOR UPDATE) x
               WHERE t.id = x.id
               RETURNING t.n_in_minute, extract(epoch FROM t.minute_at - now()) + %(seconds)s""",
            {"id": token.pk, "seconds": MINUTE.total_seconds()},
        )
        n_in_minute, wait_seconds = cursor.fetchone()
    if n_in_minute > settings.API_REQUESTS_PER_MINUTE:
        raise TooManyRequests(float(wait_seconds))


def _write(membership: Membership, secret: str, *, name: str, can_write: bool, life: timedelta) -> ApiToken:
    return ApiToken.objects.create(
        membership=membership,
        name=name,
        start=secret[:SHOWN],
        token_sha256=_hash(secret),
        can_write=can_write,
        expires_at=timezone.now() + life,
    )


def _described(token: ApiToken) -> dict[str, object]:
    return {"token": token.pk, "can_write": token.can_write, "expires_at": token.expires_at.isoformat()}


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
