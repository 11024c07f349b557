"""Figures that earlier versions stored: pages, tables and the API take them until they are recomputed."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from projects.models import Membership, Project
from results.reports import api, reports, views
from tests.people import SignIn
from tests.results.judged_batches import canonical

pytestmark = pytest.mark.django_db

Figures = dict[str, Any]
find_report = reports.find_report


def drop(found: Mapping[str, Any], *names: str) -> Figures:
    return {name: value for name, value in found.items() if name not in names}


def as_before_the_jackknife(figures: Figures) -> Figures:
    """Agreement with percentile bootstraps over both units, and without the ceiling."""
    report = drop(figures["report"], "method", "unit", "n_passages", "is_narrowed", "has_few_passages")

    def shorten(line: Figures) -> Figures:
        ends = {name: line[name] and drop(line[name], "n_parts") for name in ("by_unit", "by_passage")}
        return drop(line, "unit") | ends

    report |= {"n_resamples": 1000, "seed": 1000, "levels": [shorten(line) for line in report["levels"]]}
    report["groups"] = [group | {"line": shorten(group["line"])} for group in report["groups"]]
    return drop(figures, "report", "reliability") | {"report": report}


def as_before_students_t(figures: Figures) -> Figures:
    """Annotators whose bias has an interval from the normal distribution, without a reason where it has none."""
    return figures | {
        "people": [
            each if "reason" in each["others"] else each | {"others": drop(each["others"], "why_no_interval")}
            for each in figures["people"]
        ]
    }


def as_before_pairs_by_passage(figures: Figures) -> Figures:
    """Systems with ordered pairs by the published test alone, and percentile bootstraps over both units."""
    pairs = {
        key: [
            {"first": one, "second": other, "n_first": 9, "n_second": 9, "p": 0.5}
            for one in {score["source"] for score in found}
            for other in {score["source"] for score in found} - {one}
        ]
        for key, found in figures["scores"].items()
    }
    return drop(figures, "method", "unit", "test", "values", "notes", "n_passages", "people") | {"pairs": pairs}


EARLIER: dict[str, Callable[[Figures], Figures]] = {
    "agreement": as_before_the_jackknife,
    "annotators": as_before_students_t,
    "time": lambda figures: drop(figures, "method", "unit", "is_narrowed"),
    "systems": as_before_pairs_by_passage,
}


@pytest.fixture
def stored_earlier(monkeypatch: pytest.MonkeyPatch, project: Project) -> None:
    canonical(project)

    def find(project: Project, kind: str, settings: Mapping[str, Any]) -> reports.ReportState:
        figures = find_report(project, kind, settings).figures
        assert figures
        return reports.ReportState(figures=EARLIER[kind](figures), is_current=False)

    monkeypatch.setattr(views, "find_report", find)
    monkeypatch.setattr(api, "find_report", find)


def test_pages_tables_and_the_api_show_figures_of_earlier_versions(
    stored_earlier: None, researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    pages = {
        "agreement/": "not in these figures, which an earlier version of Concord computed",
        "agreement/annotators/": "Annotator vs. rest",
        "agreement/time/": "Alpha by period",
        "scores/systems/": "These figures were computed by an earlier version of Concord",
    }
    n_files = 0
    for address, sentence in pages.items():
        page = client.get(f"/p/bridges/{address}")
        assert page.status_code == 200, address
        text = page.content.decode()
        assert sentence in " ".join(text.split()), address
        for file in set(re.findall(r'href="(/p/bridges/[^"]*/(?:tables/[^"]+|charts/[^"]+\.csv))"', text)):
            assert client.get(file).status_code == 200, file
            n_files += 1
    assert n_files > 30
    for address in ("agreement/", "scores/?kind=systems"):
        answer = client.get(f"/api/v1/projects/bridges/{address}")
        assert (answer.status_code, answer.json()["is_current"]) == (200, False), address
