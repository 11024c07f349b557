"""Which addresses messages may go to: public ones by HTTPS, and those that the operator allows."""

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings

from projects.errors import Refused

LONGEST = 500
NAT64 = ipaddress.ip_network("64:ff9b::/96")
HTTPS_PORT, HTTP_PORT = 443, 80

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class Target:
    """An address taken apart."""

    host: str
    port: int
    path: str
    is_https: bool


class NotAllowed(Exception):
    """The host leads to an address that messages may not go to."""


def read_target(url: str) -> Target:
    """Return an address taken apart. Raises Refused for one that messages may not be sent to."""
    if len(url) > LONGEST or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise Refused(f"Enter an address of at most {LONGEST} plain characters, without spaces.", field="url")
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError as wrong:
        raise Refused("This is not the address of a site.", field="url") from wrong
    if parts.scheme not in ("http", "https") or not host:
        raise Refused("Enter an address that begins with https://.", field="url")
    if parts.username is not None or parts.password is not None:
        raise Refused("The address must not contain a user or a password. Check the signature instead.", field="url")
    is_https = parts.scheme == "https"
    if not is_https and not (_is_loopback(host) and is_allowed_host(host)):
        raise Refused("Enter an address that begins with https://: anyone on the way could read http://.", field="url")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(host, port or (HTTPS_PORT if is_https else HTTP_PORT), path, is_https)


def is_allowed_host(host: str) -> bool:
    """Return whether the operator allows this host by name, wherever it leads."""
    return host.lower() in {each.lower().strip("[]") for each in settings.WEBHOOK_ALLOWED_HOSTS}


def resolve(target: Target) -> str:
    """Return the IP address to connect to, which has been checked.

    The connection has to use this very address: a second look-up could lead elsewhere. Raises NotAllowed if any address
    of the host is private, and OSError if it has none.
    """
    found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    addresses = [str(each[4][0]) for each in found]
    if not is_allowed_host(target.host) and not all(map(is_public, addresses)):
        raise NotAllowed("The host leads to an internal address.")
    return addresses[0]


def is_public(text: str) -> bool:
    """Return whether an IP address is one of the public internet, and so are those that it stands for."""
    address: Address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inner: list[ipaddress.IPv4Address | None] = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in NAT64:
            inner.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if any(each is not None and not is_public(str(each)) for each in inner):
            return False
        if address.ipv4_mapped is not None:
            return True
    return address.is_global and not address.is_multicast and not address.is_reserved


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
