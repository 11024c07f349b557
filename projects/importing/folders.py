"""Folders of Parquet files, as data sets on Hugging Face have them, combined into one file for an import."""

import re
from pathlib import Path

from projects.errors import Refused

_NAME = re.compile(r"(?P<split>.+?)(?:-\d{5}-of-\d{5}(?:-[0-9a-f]+)?)?\.parquet")
"""File names such as train-00000-of-00002.parquet or test.parquet."""


def combine_parquet(folder: Path, target: Path) -> int:
    """Write the rows of all Parquet files of a folder into one file, and return the number of files.

    Rows get the split that their file is named for, unless the files have a column `split`. Raises Refused for a folder
    without Parquet files, and for files whose columns do not fit together.
    """
    # pyarrow alone is 60 MB, and most commands need none of it.
    import pyarrow as pa
    import pyarrow.parquet as pq

    paths = sorted(folder.rglob("*.parquet"))
    if not paths:
        raise Refused(f"There are no Parquet files in {folder}.")
    tables = []
    for path in paths:
        try:
            table = pq.read_table(path)
        except (pa.ArrowException, OSError) as error:
            raise Refused(f"{path.name} can’t be read: {error}") from error
        match = _NAME.fullmatch(path.name)
        if "split" not in table.column_names and match is not None:
            table = table.append_column("split", pa.array([match["split"]] * table.num_rows, pa.string()))
        tables.append(table)
    try:
        pq.write_table(pa.concat_tables(tables, promote_options="default"), target)
    except pa.ArrowException as error:
        raise Refused(f"The Parquet files in {folder} have different columns: {error}") from error
    return len(paths)
