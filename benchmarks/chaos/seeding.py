"""Fill the site with work, and give its owner a token; run as a command in the environment of the site."""

import json
import sys

import django


def seed(n_hits: int, n_annotators: int, n_places: int) -> tuple[list[str], str, str]:
    """Return the sessions of the annotators, and the owner's session and token."""
    from benchmarks import seeds
    from projects.api.tokens import make_token
    from projects.models import Membership

    *annotators, owner = seeds.concord(n_hits, n_annotators + 1, 0, n_places)
    member = Membership.objects.order_by("pk").last()
    assert member is not None
    member.role, member.is_annotator = Membership.Role.OWNER, False
    member.save()
    _, token = make_token(membership=member, name="chaos", can_write=True)
    return annotators, owner, token


if __name__ == "__main__":
    django.setup()
    print(json.dumps(seed(*map(int, sys.argv[1:]))))
