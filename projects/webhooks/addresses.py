"""Which addresses messages may go to: public ones by HTTPS, and those that the operator allows."""

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings

from projects.errors import Refused
from projects.web.links import is_loopback
from projects.web.outgoing import run_within

LONGEST = 500
GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
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
    """The host has no address that messages may go to.

    One error for a name that leads inside and for one that does not exist: otherwise a manager could find out which
    names the operator's network has.
    """

    def __init__(self) -> None:
        super().__init__("The host has no public address.")


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
    if not is_https and not (is_loopback(host) and is_allowed_host(host)):
        raise Refused("Enter an address that begins with https://: anyone on the way could read http://.", field="url")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(host, port or (HTTPS_PORT if is_https else HTTP_PORT), path, is_https)


def is_allowed_host(host: str) -> bool:
    """Return whether the operator allows this host by name, wherever it leads."""
    return host.lower() in {each.lower().strip("[]") for each in settings.WEBHOOK_ALLOWED_HOSTS}


def resolve(target: Target, *, seconds: float) -> str:
    """Return the IP address to connect to, which has been checked.

    The connection has to use this very address: a second look-up could lead elsewhere. Raises NotAllowed if the host
    has no address, or one that is not public, or if no name server answers in time.
    """
    try:
        # A look-up asks each name server several times, for several seconds each.
        found = run_within(
            seconds,
            lambda: socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP),
        )
    except (OSError, UnicodeError) as unknown:  # the latter for a name that is too long
        raise NotAllowed from unknown
    addresses = [str(each[4][0]) for each in found]
    if not addresses or not (is_allowed_host(target.host) or all(map(is_public, addresses))):
        raise NotAllowed
    return addresses[0]


def is_public(text: str) -> bool:
    """Return whether an IP address is one of the public internet."""
    address: Address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        # What stands for an IPv4 address leads where that one does.
        if address in NAT64:
            return is_public(str(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)))
        if address.ipv4_mapped is not None:
            return is_public(str(address.ipv4_mapped))
        # So does 6to4, which no receiver uses any more. Outside global unicast there are networks that Python takes
        # for global, such as site-local ones and the NAT64 of single networks.
        if address.sixtofour is not None or address not in GLOBAL_UNICAST:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved
