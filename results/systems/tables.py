"""Tables of the pages of systems and of replication."""

from collections.abc import Mapping
from typing import Any

from projects.tables.reading import read_number
from projects.tables.tables import Column, Table, Value

Figures = Mapping[str, Any]
MEASURES = {"z": "mean z", "raw": "mean"}


def tabulate_replication(figures: Figures, *, key: str) -> list[Table]:
    """Return how the systems' scores of two batches correlate, and then the scores, as z scores and as means."""
    found = figures["by"].get(key, {})
    scope = f"criterion: {key}" if key else "all criteria"
    columns = [
        Column("score", "Score"),
        Column("n", "Systems", "count"),
        Column("pearson", "Pearson's r", "number", 4, hint="pearson"),
        Column("spearman", "Spearman's rho", "number", 4, hint="spearman"),
        Column("kendall", "Kendall's tau-b", "number", 4, hint="kendall"),
    ]
    rows: list[list[Value]] = [
        [
            MEASURES[measure],
            each["replication"]["n"],
            *(read_number(each["replication"][name]) for name in ("pearson", "spearman", "kendall")),
        ]
        for measure, each in sorted(found.items(), key=lambda pair: list(MEASURES).index(pair[0]))
    ]
    n = max((len(each["systems"]) for each in found.values()), default=0)
    caption = f"Correlation of the systems' scores in two batches ({scope}; n = {n:,} systems in both; no intervals)."
    tables = [Table("correlation", "Correlation of system scores", columns, rows, caption, label="replication")]
    for measure, name in MEASURES.items():
        systems = found.get(measure, {}).get("systems", [])
        if systems:
            title = f"{name.capitalize()} in both batches"
            columns = [
                Column("system", "System"),
                Column("first", f"{name.capitalize()}, first batch", "number"),
                Column("second", f"{name.capitalize()}, second batch", "number"),
            ]
            rows = [[each["source"] or "unspecified", each["first"], each["second"]] for each in systems]
            caption = f"{title} ({scope}; n = {len(rows):,} systems; means over their ratings)."
            tables.append(Table(f"systems-{measure}", title, columns, rows, caption, label=f"replication-{measure}"))
    return tables
