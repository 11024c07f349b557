"""Print the code with which the first account of a fresh site is created on its page."""

from typing import Any

from django.conf import settings
from django.urls import reverse

from projects.accounts import first_owner
from projects.commands import ReportingCommand
from projects.errors import Refused
from projects.web.links import absolute_url

EXISTS = "This site already has an account. To add another, run: manage.py create_account NAME --creates-projects"


class Command(ReportingCommand):
    help = "Print the code with which the first account of a fresh site is created on its page, /first-owner/."

    def handle(self, *args: Any, **options: Any) -> None:
        if not first_owner.is_fresh():
            raise Refused(EXISTS)
        path, code = reverse("projects:first-owner"), first_owner.make_code()
        if settings.SITE_URL:
            path = absolute_url(path)
            text = f"Create the first owner at {path}\nCode: {code}"
        else:
            text = f"Open {path} on your site and enter this code:\n{code}"
        self.answer({"path": path, "code": code}, text=text)
