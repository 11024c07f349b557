"""The address of a client behind the operator's proxies."""

from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """Return the client's IP address, for throttling; that of the nearest proxy if the header has none.

    Only the operator's own proxies are believed: each appends one address to X-Forwarded-For, so the one that counts
    is the N_PROXIES-th from the right. Whatever is to its left was sent by the client and can be forged. Some
    proxies append a port, or “unknown”.
    """
    forwarded = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
    counts = settings.N_PROXIES and len(forwarded) >= settings.N_PROXIES
    if counts and (address := _read_address(forwarded[-settings.N_PROXIES])):
        return address
    return _read_address(str(request.META.get("REMOTE_ADDR") or ""))


def _read_address(text: str) -> str:
    """Return the IP address of “203.0.113.7:4711”, “[2001:db8::1]:443” and the like, or "" for anything else."""
    host = text.strip('"')
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return ""
    # A server that listens to both protocols sees IPv4 clients as mapped addresses.
    return str(getattr(address, "ipv4_mapped", None) or address)
