"""Make the demo project."""

from typing import Any

from django.core.management.base import CommandParser

from demo.making import Demo, make_demo, renew_passwords
from projects.commands import ReportingCommand

OTHER_PASSWORDS = "The passwords were shown when the demo was created. For new ones: manage.py demo --new-passwords"


class Command(ReportingCommand):
    help = "Create a demo project with data, people and simulated annotators. Running it again changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--new-passwords", action="store_true", help="give the demo's people new passwords")
        parser.add_argument("--seed", type=int, default=7, help="seed for the simulated annotators")

    def handle(self, *args: Any, seed: int, new_passwords: bool, **options: Any) -> None:
        demo = make_demo(seed=seed, on_progress=self.progress)
        if new_passwords and not demo.is_new:
            demo = Demo(demo.project, False, renew_passwords(demo.project), demo.counts)
        sign_ins = [{"username": each.username, "role": each.role, "password": each.password} for each in demo.sign_ins]
        result = {"project": demo.project.slug, "made": demo.is_new, "sign_ins": sign_ins, **demo.counts}
        self.answer(result, _as_text(demo))


def _as_text(demo: Demo) -> str:
    counts = demo.counts
    state = "was created" if demo.is_new else "already exists"
    contents = (
        f"{counts['passages']} passages, {counts['candidates']} candidates, {counts['batches']} batches, "
        f"{counts['judgments']:,} judgments by {counts['simulated_annotators']} simulated annotators"
    )
    lines = [f"The demo project “{demo.project.slug}” {state}: {contents}.", "", "Sign-ins:"]
    width = max((len(each.username) for each in demo.sign_ins), default=0)
    lines += [f"  {each.username:<{width}}  {each.password or ''}".rstrip() for each in demo.sign_ins]
    if any(each.password for each in demo.sign_ins):
        lines += ["", "These passwords are shown only once."]
    else:
        lines += ["", OTHER_PASSWORDS]
    return "\n".join(lines)
