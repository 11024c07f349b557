"""Make the demo project."""

from typing import Any

from django.core.management.base import CommandParser

from demo.making import Made, make_demo, renew_passwords
from projects.commands import ReportingCommand

OTHER_PASSWORDS = "The passwords were shown when the demo was created. For new ones: manage.py demo --new-passwords"


class Command(ReportingCommand):
    help = "Create a demo project with data, people and simulated annotators. Running it again changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--new-passwords", action="store_true", help="give the demo's people new passwords")
        parser.add_argument("--seed", type=int, default=7, help="seed for the simulated annotators")

    def handle(self, *args: Any, seed: int, new_passwords: bool, **options: Any) -> None:
        made = make_demo(seed=seed, on_progress=self.progress)
        if new_passwords and not made.is_new:
            made = Made(made.project, False, renew_passwords(made.project), made.counts)
        sign_ins = [{"username": each.username, "role": each.role, "password": each.password} for each in made.sign_ins]
        result = {"project": made.project.slug, "made": made.is_new, "sign_ins": sign_ins, **made.counts}
        self.answer(result, _as_text(made))


def _as_text(made: Made) -> str:
    counts = made.counts
    is_made = "was created" if made.is_new else "already exists"
    held = (
        f"{counts['passages']} passages, {counts['candidates']} candidates, {counts['batches']} batches, "
        f"{counts['judgments']:,} judgments by {counts['simulated_annotators']} simulated annotators"
    )
    lines = [f"The demo project “{made.project.slug}” {is_made}: {held}.", "", "Sign-ins:"]
    width = max((len(each.username) for each in made.sign_ins), default=0)
    lines += [f"  {each.username:<{width}}  {each.password or ''}".rstrip() for each in made.sign_ins]
    if any(each.password for each in made.sign_ins):
        lines += ["", "These passwords are shown only once."]
    else:
        lines += ["", OTHER_PASSWORDS]
    return "\n".join(lines)
