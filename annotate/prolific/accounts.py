"""Accounts: which token a project uses, encrypted in the database, and the secrets that sign Prolific's messages."""

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.db import transaction
from django.urls import reverse

from annotate.models import ProlificAccount
from annotate.prolific.calling import Client, PlatformError, require_text
from projects import log
from projects.access import lock_actor
from projects.database import encryption
from projects.errors import Refused
from projects.models import Act, Membership, Project
from projects.web.links import absolute_url

SALT = "annotate.prolific"
PATIENCE_IN_JOBS = 60.0
"""Nobody waits for a job, so it sits out the pauses that the platform asks for."""
EVENTS = ("submission.status.change", "study.status.change")


def find_account(project: Project) -> ProlificAccount | None:
    return ProlificAccount.objects.filter(project=project).first()


def is_connected(project: Project) -> bool:
    """Return whether there is a token, the project's own or the site's."""
    account = find_account(project)
    return bool(settings.PROLIFIC_TOKEN) or (account is not None and bool(account.token))


def open_client(project: Project, *, in_job: bool = False) -> Client:
    """Return a client with the project's token. Raises Refused without one, or with one that can't be read any more."""
    account = find_account(project)
    token = _read_secret(account.token) if account is not None and account.token else settings.PROLIFIC_TOKEN
    if not token:
        raise Refused("No Prolific account is connected. The project’s owner connects one under Panels.")
    return make_client(token, in_job=in_job)


def make_client(token: str, *, in_job: bool = False) -> Client:
    client = Client(url=settings.PROLIFIC_API_URL, token=token)
    if in_job:
        client.patience = PATIENCE_IN_JOBS
    return client


def connect(*, actor: Membership, token: str) -> ProlificAccount:
    """Check a token with Prolific and store it encrypted; an empty one means the site's own. Raises Refused."""
    token = token.strip()
    used = token or settings.PROLIFIC_TOKEN
    if not used:
        raise Refused("Enter the API token.", field="token")
    if not used.isascii() or not used.isprintable():
        raise Refused("This is not a token. Copy it again.", field="token")
    try:
        client = make_client(used)
        currency = require_text(client.get("/api/v1/users/me/"), "currency_code")
        workspaces = list(client.list_all("/api/v1/workspaces/"))
        workspace = require_text(workspaces[0], "id") if workspaces else ""
    except PlatformError as error:
        raise Refused(error.message, field="token") from error
    with transaction.atomic():
        lock_actor(actor)
        # Secrets and subscriptions are those of a workspace: another one has none yet.
        ProlificAccount.objects.filter(project=actor.project).exclude(workspace_id=workspace).update(
            secret="", secret_before=""
        )
        account, _ = ProlificAccount.objects.update_or_create(
            project=actor.project,
            defaults={
                "token": _encrypt(token) if token else "",
                "currency": currency[:3].upper(),
                "workspace_id": workspace,
                "connected_by": actor,
            },
        )
        log.record(actor.project, actor, Act.CONNECT_PROLIFIC, actor.project, after={"currency": account.currency})
    return account


@transaction.atomic
def disconnect(*, actor: Membership) -> None:
    """Forget the token and the secrets of messages. Repeating it changes nothing."""
    lock_actor(actor)
    cleared = ProlificAccount.objects.filter(project=actor.project)
    if cleared.exclude(token="", secret="").update(token="", secret="", secret_before=""):
        log.record(actor.project, actor, Act.DISCONNECT_PROLIFIC, actor.project)


def subscribe(*, actor: Membership, url: str) -> None:
    """Ask Prolific to send its events to `url`, signed with a new secret; the secret before stays valid meanwhile.

    Raises Refused for a refusal of the platform, which wants a public address by HTTPS: then it can be asked again.
    """
    account = find_account(actor.project)
    if account is None:
        raise Refused("Connect the account first.")
    client = open_client(actor.project)
    made = client.post("/api/v1/hooks/secrets/", {"workspace_id": account.workspace_id})
    value = require_text(made, "value")
    with transaction.atomic():
        lock_actor(actor)
        is_first = not account.secret
        # The secret is stored before anything is signed with it.
        stored = _encrypt(value)
        ProlificAccount.objects.filter(pk=account.pk).update(secret=stored, secret_before=account.secret)
        log.record(actor.project, actor, Act.RENEW_PROLIFIC_SECRET, actor.project)
    if is_first:
        try:
            _make_subscriptions(client, account, url)
        except Refused:
            # With a secret the next request would be taken for a renewal, which makes no subscription.
            ProlificAccount.objects.filter(pk=account.pk, secret=stored).update(secret="", secret_before="")
            raise


def _make_subscriptions(client: Client, account: ProlificAccount, url: str) -> None:
    for event in EVENTS:
        body = {"workspace_id": account.workspace_id, "event_type": event, "target_url": url}
        subscription, secret = client.post_for_header("/api/v1/hooks/subscriptions/", body, "X-Hook-Secret")
        pk = require_text(subscription, "id")
        client.post(f"/api/v1/hooks/subscriptions/{pk}/", {"secret": secret}, repeats=True)


def list_secrets(account: ProlificAccount) -> list[str]:
    """Return the secrets that sign messages: the current one, and the one before."""
    found = []
    for encrypted in filter(None, (account.secret, account.secret_before)):
        try:
            found.append(encryption.decrypt(encrypted, salt=SALT, purpose="secret"))
        except InvalidToken:
            continue
    return found


def make_address(account: ProlificAccount, request: object = None) -> str:
    return absolute_url(reverse("annotate:prolific-hook", args=[account.address]), request)  # type: ignore[arg-type]


def _encrypt(text: str) -> str:
    return encryption.encrypt(text, salt=SALT, purpose="secret")


def _read_secret(encrypted: str) -> str:
    try:
        return encryption.decrypt(encrypted, salt=SALT, purpose="secret")
    except InvalidToken as error:
        raise Refused(
            "The Prolific token can’t be read any more, as SECRET_KEY has changed. Enter it again."
        ) from error
