"""Requests over TLS: a listener here has a certificate of its own, which only some of these tests trust."""

import socket
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from projects.web.outgoing import Response, TooLarge, exchange

HOST = "hooks.example.org"
SENT = b"What happened"
ANSWER = b"HTTP/1.1 200 OK\r\nX-Kind: Test\r\nContent-Length: 4\r\n\r\nfine"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and a certificate for HOST, which nobody has signed but itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = (
        builder.serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    )
    names = x509.SubjectAlternativeName([x509.DNSName(HOST)])
    signed = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    path = tmp_path_factory.mktemp("tls") / "hooks.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return path


class Listener:
    """Answers one request, and keeps what it got of it: nothing where the handshake failed."""

    def __init__(self, certificate: Path, plug: socket.socket) -> None:
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.load_cert_chain(certificate)
        self.plug = plug
        self.got = b""

    def answer(self) -> None:
        try:
            with self.context.wrap_socket(self.plug.accept()[0], server_side=True) as wire:
                while not self.got.endswith(SENT) and (piece := wire.recv(65536)):
                    self.got += piece
                wire.sendall(ANSWER)
        except OSError:
            return


@pytest.fixture
def plug() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as found:
        found.settimeout(20)  # where nobody comes
        yield found


@pytest.fixture
def listener(certificate: Path, plug: socket.socket) -> Iterator[Listener]:
    found = Listener(certificate, plug)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(found.answer)
        yield found


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))


def ask(plug: socket.socket, monkeypatch: pytest.MonkeyPatch, *, host: str = HOST, **over: float) -> Response:
    """Send a request to the usual port, for which the listener's stands in."""
    at = plug.getsockname()
    connect = socket.create_connection
    with monkeypatch.context() as patched:
        patched.setattr(
            socket, "create_connection", lambda address, timeout: connect((address[0], at[1]), timeout=timeout)
        )
        return exchange(
            "POST",
            host=host,
            port=443,
            path="/x?y=1",
            is_https=True,
            address=at[0],
            headers={"Authorization": "Token secret"},
            body=SENT,
            **{"seconds": 20.0, **over},  # type: ignore[arg-type]
        )


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize(("most_bytes", "body"), [(0, b""), (4, b"fine")])
def test_the_host_of_the_address_is_asked_by_its_name(
    listener: Listener, monkeypatch: pytest.MonkeyPatch, most_bytes: int, body: bytes
) -> None:
    answer = ask(listener.plug, monkeypatch, most_bytes=most_bytes)
    assert (answer.status, answer.body, answer.headers["x-kind"]) == (200, body, "Test")
    assert listener.got.startswith(b"POST /x?y=1 HTTP/1.1\r\n")
    assert f"\r\nHost: {HOST}\r\n".encode() in listener.got


@pytest.mark.usefixtures("trusted")
def test_a_longer_answer_is_refused(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TooLarge):
        ask(listener.plug, monkeypatch, most_bytes=3)


def test_a_certificate_that_nobody_vouches_for_is_refused(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(listener.plug, monkeypatch)
    assert listener.got == b""


@pytest.mark.usefixtures("trusted")
def test_the_certificate_of_another_host_is_refused(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(listener.plug, monkeypatch, host="other.example.org")
    assert listener.got == b""


def test_a_handshake_that_nobody_answers_ends_in_time(plug: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        ask(plug, monkeypatch, seconds=0.05)
    assert time.monotonic() - began < 10


@pytest.mark.usefixtures("trusted")
def test_an_answer_that_comes_byte_by_byte_ends_in_time(
    certificate: Path, plug: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(Listener):
        def answer(self) -> None:
            with suppress(OSError), self.context.wrap_socket(self.plug.accept()[0], server_side=True) as wire:
                while True:
                    wire.sendall(b"H")
                    time.sleep(0.05)

    began = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(Slow(certificate, plug).answer)
        with pytest.raises(TimeoutError):
            ask(plug, monkeypatch, seconds=1.0)
    assert time.monotonic() - began < 10
