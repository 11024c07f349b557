"""The site behind nginx and Caddy with TLS, below a path, and on IPv6: what a visitor and a manager do there."""

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import requests

from annotate.models import Import
from projects.api import tokens
from projects.models import Membership
from tests.annotate.imports.import_steps import rows, write_csv
from tests.deploy import proxies
from tests.factories import make_membership, make_project, make_user
from tests.processes import free_port, wait_until

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]
PASSWORD = "a-long-password-of-a-manager"
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@contextmanager
def behind(kind: str, folder: Path) -> Iterator[tuple[str, Path | str]]:
    """The address of a running site and what its certificate is checked with."""
    port, http, https = free_port(), free_port(), free_port()
    path = "/concord" if "below a path" in kind else ""
    address = f"https://localhost:{https}{path}"
    is_caddy = kind.startswith("Caddy")
    bind = f"127.0.0.1:{port}" if is_caddy else f"[::1]:{port}"
    with ExitStack() as stack:
        stack.enter_context(proxies.site(bind, address))
        if is_caddy:
            text = proxies.read_file("Caddyfile").replace(
                "admin off", f"admin off\n\thttp_port {http}\n\tskip_install_trust"
            )
            parts = {"SITE_URL": address.removesuffix(path), "SITE_PATH": path}
            stack.enter_context(proxies.caddy(folder, text, https, **parts, UPSTREAM=bind))
            root = folder / "caddy" / "pki" / "authorities" / "local" / "root.crt"
            wait_until(lambda: has_certificate(address), "Caddy gets no certificate from itself.")
            yield address, root
            return
        proxies.make_certificate(folder)
        certificate = f"ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;"
        if path:
            inner = proxies.read_file("nginx/prefix.conf").replace("127.0.0.1:8000", bind)
            text = f"server {{ listen 127.0.0.1:{https} ssl; {certificate} {inner} }}"
        else:
            text = proxies.read_file("nginx/concord.conf").replace("127.0.0.1:8000", bind)
            for old, new in (
                (r"listen \[::\]:\d+( ssl)?;", ""),
                (r"listen 80;", f"listen 127.0.0.1:{http};"),
                (r"listen 443 ssl;", f"listen 127.0.0.1:{https} ssl;"),
                (r"server_name [^;]+;", "server_name localhost;"),
                (r"ssl_certificate [^;]+;\s*ssl_certificate_key [^;]+;", certificate),
            ):
                assert re.search(old, text), old
                text = re.sub(old, new, text)
        stack.enter_context(proxies.nginx(folder, text, https))
        if not path:
            moved = requests.get(f"http://127.0.0.1:{http}/desk/", headers={"Host": "localhost"}, allow_redirects=False)
            assert (moved.status_code, moved.headers["Location"]) == (308, "https://localhost/desk/")
        yield address, folder / "cert.pem"


def has_certificate(address: str) -> bool:
    try:
        with requests.Session() as visitor:
            visitor.trust_env, visitor.verify = False, False
            return visitor.get(f"{address}/health/live").ok
    except requests.RequestException:
        return False


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")  # until there is a certificate
@pytest.mark.parametrize(
    "kind",
    [
        "nginx below a path",
        *(pytest.param(kind, marks=pytest.mark.drill) for kind in ("nginx", "Caddy", "Caddy below a path")),
    ],
)
def test_a_manager_works_behind_a_proxy(kind: str, tmp_path: Path) -> None:
    if proxies.find("caddy" if "Caddy" in kind else "nginx") is None or shutil.which("openssl") is None:
        pytest.skip("This machine has no such proxy: `python -m tests.machine` brings those of Debian.")
    project = make_project("bridges", name="Bridges")
    mara = make_membership(project, make_user("mara", password=PASSWORD), role=Membership.Role.MANAGER)
    make_membership(project)
    _token, secret = tokens.make_token(membership=mara, name="script", can_write=False)
    with behind(kind, tmp_path) as (address, certificate), requests.Session() as visitor:
        visitor.trust_env, visitor.verify = False, str(certificate)
        page = visitor.get(f"{address}/sign-in/", headers={"X-Request-ID": "forged-0123456789"})
        assert page.status_code == 200
        assert page.headers["Strict-Transport-Security"].startswith("max-age=31536000")
        assert "forged" not in page.headers["X-Request-ID"]
        assert visitor.get(f"{address}/metrics").status_code == 404
        assert visitor.get(address).url.startswith(f"{address}/sign-in/")

        # Every address on the page is below the site's, and its files are there.
        path = address.partition("localhost")[2].partition("/")[2]
        links = re.findall(r'(?:href|src|action)="(/[^"]*)"', page.text)
        assert links
        assert all(link.startswith(f"/{path}") for link in links)
        (style,) = [link for link in links if "/static/css/concord." in link]
        origin = address.removesuffix(f"/{path}") if path else address
        assert visitor.get(f"{origin}{style}").headers["Content-Type"].startswith("text/css")

        login = {"username": "mara", "password": PASSWORD}
        referer = {"Referer": page.url, "Origin": origin}
        assert visitor.post(page.url, login, headers=referer).status_code == 403, "without the token"
        elsewhere = {**referer, "Origin": "https://elsewhere.example.org"}
        token = {"csrfmiddlewaretoken": TOKEN.findall(page.text)[0]}
        assert visitor.post(page.url, {**login, **token}, headers=elsewhere).status_code == 403
        signed_in = visitor.post(page.url, {**login, **token}, headers=referer, allow_redirects=False)
        assert (signed_in.status_code, signed_in.headers["Location"]) == (302, f"/{path}/desk/" if path else "/desk/")
        cookies = {cookie.name: cookie for cookie in visitor.cookies}
        assert {"__Host-session", "__Host-csrf"} <= set(cookies)
        assert all(cookie.secure and cookie.path == "/" for cookie in cookies.values())

        form = visitor.get(f"{address}/p/bridges/data/imports/new/")
        token = {"csrfmiddlewaretoken": TOKEN.findall(form.text)[-1], "kind": "candidates"}
        content = write_csv(rows(6)) + b"\n" * 3_000_000  # larger than a form: the site is asked first
        files = {"file": ("a.csv", content)}
        sent = visitor.post(form.url, token, files=files, headers={**referer, "Referer": form.url})
        assert sent.status_code == 200
        assert Import.objects.get().n_bytes == len(content)
        assert sent.url.startswith(f"{address}/p/bridges/data/imports/")
        with requests.Session() as stranger:
            stranger.trust_env, stranger.verify = False, str(certificate)
            refused = stranger.post(form.url, token, files=files, allow_redirects=False)
            assert refused.status_code == 302
            assert refused.headers["Location"].startswith(f"/{path}/sign-in/" if path else "/sign-in/")

        exported = visitor.get(f"{address}/p/bridges/export/long.csv")
        assert exported.status_code == 200
        assert exported.headers["Content-Disposition"].startswith("attachment")
        bearer, people = {"Authorization": f"Bearer {secret}"}, f"{address}/api/v1/projects/bridges/people/?page_size=1"
        first = requests.get(people, headers=bearer, verify=str(certificate))
        following = requests.get(first.json()["next"], headers=bearer, verify=str(certificate))
        assert len(following.json()["results"]) == 1, "the address of the next page has the port"
        missing = visitor.get(f"{address}/api/v1/nothing/")
        assert (missing.status_code, missing.headers["Content-Type"]) == (404, "application/problem+json")
