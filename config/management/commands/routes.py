"""List every route with the right that it asks for."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.routes import Route, all_routes


class Command(BaseCommand):
    help = "List every route with the right that it asks for, and exit with 1 if a view declares none."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        routes = sorted(all_routes(), key=lambda route: route.path)
        wide = max(len(route.path) for route in routes)
        for route in routes:
            self.stdout.write(f"{route.path:{wide}}  {_in_words(route)}")
        without = [route.path for route in routes if route.policy is None]
        if without:
            raise CommandError("No policy is declared for " + ", ".join(without))


def _in_words(route: Route) -> str:
    policy = route.policy
    if policy is None:
        return "NO POLICY"
    right = f": {policy.right.value}" if policy.right is not None and policy.name != policy.right.value else ""
    writing = f", {policy.writes.value} to write" if policy.writes is not None else ""
    return policy.name + right + writing
