"""The guides name the number of judgments from which a job computes figures."""

import re

from django.conf import settings

from results.reports.reports import AT_ONCE


def test_the_guides_name_from_how_many_judgments_a_job_computes() -> None:
    for name, n in (("researchers", 3), ("managers", 1)):
        guide = (settings.GUIDES_DIR / f"{name}.md").read_text(encoding="utf-8")
        assert re.findall(r"more than ([\d,]+) judgments", guide) == [f"{AT_ONCE:,}"] * n
