"""The tables of a frozen set as Parquet files in a folder, for data that do not fit into memory.

They are opened by DuckDB, Polars or PyArrow, whichever is installed, and read from disk as far as a query needs them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .connection import read_sha256
from .errors import ConcordError

if TYPE_CHECKING:
    import duckdb
    import polars
    import pyarrow.dataset

SUFFIX = ".parquet"
JUDGMENTS = "judgments"


class SetTables:
    """The Parquet tables of one judgment set, such as `judgments`, `aggregated` and `candidates`.

    `paths` has the file of each table by its name.
    """

    def __init__(self, folder: Path, paths: Mapping[str, Path]) -> None:
        self.folder = folder
        self.paths = dict(paths)

    def __repr__(self) -> str:
        return f"SetTables({', '.join(self.paths)} in {str(self.folder)!r})"

    def path(self, table: str = JUDGMENTS) -> Path:
        """Return the file of a table."""
        if table not in self.paths:
            raise ConcordError(f"The set has no table “{table}”. Choose one of: {', '.join(self.paths)}.")
        return self.paths[table]

    def open_duckdb(self, connection: "duckdb.DuckDBPyConnection | None" = None) -> "duckdb.DuckDBPyConnection":
        """Return a DuckDB connection with a view for each table, a new one in memory if none is given."""
        import duckdb

        opened = duckdb.connect() if connection is None else connection
        for name, path in self.paths.items():
            opened.read_parquet(str(path)).create_view(name)
        return opened

    def scan_polars(self, table: str = JUDGMENTS) -> "polars.LazyFrame":
        """Return a table as a lazy frame of Polars."""
        import polars

        return polars.scan_parquet(self.path(table))

    def open_arrow(self, table: str = JUDGMENTS) -> "pyarrow.dataset.Dataset":
        """Return a table as a dataset of PyArrow, which reads it in batches."""
        import pyarrow.dataset

        return pyarrow.dataset.dataset(self.path(table), format="parquet")


def list_tables(judgment_set: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the Parquet files of a set, as the site lists them, by the name of their table.

    Raises ConcordError for a set that is not frozen or has none.
    """
    number = judgment_set["number"]
    if not judgment_set["sha256"]:
        raise ConcordError(f"Judgment set {number} is not frozen yet.")
    files = [each for each in judgment_set["files"] if str(each["name"]).endswith(SUFFIX)]
    # A name becomes a path in the folder of the caller, so it must not lead out of it.
    if strange := [each["name"] for each in files if Path(each["name"]).name != each["name"]]:
        raise ConcordError(f"The site lists a file with the name {strange[0]!r}, which is no plain name.")
    if not files:
        raise ConcordError(f"Judgment set {number} has no Parquet files. Read its CSV files with read_set.")
    return {str(each["name"]).removesuffix(SUFFIX): each for each in files}


def is_whole(path: Path, file: Mapping[str, Any]) -> bool:
    """Return whether a file is there with the size and the hash that the site lists."""
    if not path.is_file() or path.stat().st_size != file["n_bytes"]:
        return False
    return read_sha256(path) == str(file["sha256"])
