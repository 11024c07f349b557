"""Print the code with which the first account of a fresh site is created on its page."""

from typing import Any

from django.conf import settings
from django.urls import reverse

from projects.accounts import first_owner
from projects.commands import ReportingCommand
from projects.errors import Refused


class Command(ReportingCommand):
    help = "Print the code with which the first account of a fresh site is created on its page, /first-owner/."

    def handle(self, *args: Any, **options: Any) -> None:
        if not first_owner.is_fresh():
            raise Refused(first_owner.EXISTS)
        address = f"{settings.SITE_URL.rstrip('/')}{reverse('projects:first-owner')}"
        code = first_owner.make_code()
        self.answer({"path": address, "code": code}, text=f"Create the first owner at {address}\nCode: {code}")
