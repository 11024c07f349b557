"""Messages go to public addresses by HTTPS, and to the very address that was checked."""

import socket
import threading
import time
from typing import Any

import pytest
from pytest_django import Settings

from projects.errors import Refused
from projects.models import Delivery, Membership, Webhook
from projects.webhooks import addresses, endpoints, sending
from projects.webhooks.addresses import NotAllowed, is_public, read_target, resolve


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.org/",
        "http://localhost:8000/",
        "ftp://hooks.example.org/",
        "https://",
        "hooks.example.org",
        "https://user:password@hooks.example.org/",
        "https://hooks.example.org:99999/",
        "https://hooks.example.org/a b",
        "https://hooks.example.org/\r\nX-Evil: 1",
        "https://evil.example\\@hooks.example.org/",
        "https://[::1/",
        "https://hoo\u200bks.example.org/",
        "https://hooks.example.org/" + "a" * 500,
    ],
)
def test_what_is_no_https_address_is_refused(url: str, settings: Settings) -> None:
    settings.WEBHOOK_ALLOWED_HOSTS = ["internal.example"]
    with pytest.raises(Refused):
        read_target(url)


def test_http_is_for_an_allowed_loopback_alone(settings: Settings) -> None:
    settings.WEBHOOK_ALLOWED_HOSTS = ["localhost", "[::1]", "internal.example"]
    assert read_target("http://localhost:9000/x?y=1") == addresses.Target("localhost", 9000, "/x?y=1", is_https=False)
    assert read_target("http://[::1]:9000/").host == "::1"
    assert read_target("https://hooks.example.org").port == 443
    with pytest.raises(Refused, match="https://"):
        read_target("http://internal.example/")


@pytest.mark.parametrize(
    ("address", "is_right"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00:ec2::254", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:169.254.169.254", False),
        ("::ffff:93.184.216.34", True),
        ("::7f00:1", False),
        ("fec0::1", False),
        ("64:ff9b::5db8:d822", True),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("64:ff9b:1::7f00:1", False),
        ("2002:7f00:1::", False),
        ("2002:5db8:d822::1", False),
        ("2001:0:7f00:1::", False),
    ],
)
def test_only_addresses_of_the_internet_are_public(address: str, is_right: bool) -> None:
    assert is_public(address) is is_right


def resolve_to(*found: str) -> Any:
    return lambda *args, **kwargs: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 443)) for each in found]


def test_a_host_with_one_internal_address_is_not_allowed(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    target = read_target("https://hooks.example.org/")
    monkeypatch.setattr(socket, "getaddrinfo", resolve_to("93.184.216.34", "127.0.0.1"))
    with pytest.raises(NotAllowed):
        resolve(target, seconds=5)
    settings.WEBHOOK_ALLOWED_HOSTS = ["HOOKS.example.org"]
    assert resolve(target, seconds=5) == "93.184.216.34"


@pytest.mark.django_db
def test_the_connection_goes_to_the_address_that_was_checked(
    owner: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host leads to this machine right after the check; nothing asks a second time."""
    answers = [resolve_to("93.184.216.34"), resolve_to("93.184.216.34"), resolve_to("127.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: answers.pop(0)())
    connected: list[Any] = []

    def refuse(address: Any, **kwargs: Any) -> Any:
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", refuse)
    webhook, _ = endpoints.add_webhook(actor=owner, url="https://hooks.example.org/", events=["set.frozen"])
    outcome = sending.send(make_delivery(webhook))
    assert connected == [("93.184.216.34", 443)]
    assert outcome.error == "The connection failed (ConnectionRefusedError)."
    # At the next message the host leads elsewhere, and nothing is connected.
    assert sending.send(make_delivery(webhook)).error == "The host has no public address."
    assert len(connected) == 1


def make_delivery(webhook: Webhook) -> Delivery:
    from projects.webhooks.delivering import send_test

    webhook.deliveries.update(state=Delivery.State.FAILED)
    delivery = send_test(webhook=webhook)
    delivery.refresh_from_db()
    return delivery


@pytest.mark.django_db
def test_nobody_learns_which_names_the_inner_network_has(owner: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that leads inside and one that does not exist are refused by the same sentence, at once and later."""
    monkeypatch.setattr(socket, "getaddrinfo", resolve_to("93.184.216.34"))
    webhook, _ = endpoints.add_webhook(actor=owner, url="https://metadata.example/", events=["set.frozen"])
    said = set()
    for found in (resolve_to("169.254.169.254"), resolve_to(), refuse_to_resolve):
        monkeypatch.setattr(socket, "getaddrinfo", found)
        with pytest.raises(Refused, match="WEBHOOK_ALLOWED_HOSTS") as refusal:
            endpoints.add_webhook(actor=owner, url="https://metadata.example/", events=["set.frozen"])
        said.add((refusal.value.message, sending.send(make_delivery(webhook)).error))
    with pytest.raises(Refused, match="no public address"):
        endpoints.add_webhook(actor=owner, url=f"https://{'a' * 64}.example/", events=["set.frozen"])
    assert len(said) == 1
    assert Webhook.objects.count() == 1


@pytest.mark.django_db
def test_a_name_server_that_does_not_answer_holds_up_no_message(
    owner: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolve_to("93.184.216.34"))
    webhook, _ = endpoints.add_webhook(actor=owner, url="https://hooks.example.org/", events=["set.frozen"])
    is_over = threading.Event()

    def wait(*args: Any, **kwargs: Any) -> Any:
        is_over.wait(20)
        return resolve_to("93.184.216.34")()

    monkeypatch.setattr(socket, "getaddrinfo", wait)
    monkeypatch.setattr(sending, "TIMEOUT_SECONDS", 0.2)
    outcome = sending.send(make_delivery(webhook))
    is_over.set()
    assert outcome.error == "The host has no public address."
    assert outcome.ms < 5_000


@pytest.mark.django_db
def test_looking_up_a_name_takes_from_the_time_of_the_message(
    owner: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolve_to("93.184.216.34"))
    webhook, _ = endpoints.add_webhook(actor=owner, url="https://hooks.example.org/", events=["set.frozen"])
    allowed: list[float] = []

    def look_up(*args: Any, **kwargs: Any) -> Any:
        time.sleep(0.3)
        return resolve_to("93.184.216.34")()

    def refuse(address: Any, timeout: float) -> Any:
        allowed.append(timeout)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(socket, "create_connection", refuse)
    sending.send(make_delivery(webhook))
    assert 0 < allowed[0] <= sending.TIMEOUT_SECONDS - 0.3


def refuse_to_resolve(*args: Any, **kwargs: Any) -> Any:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
