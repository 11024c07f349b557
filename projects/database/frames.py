"""Frames: what a statement selects, as a pandas frame."""

import io
from collections.abc import Mapping

import pandas as pd
import pyarrow as pa
import pyarrow.csv
from django.db import connection


def copy_frame(
    select: str, parameters: Mapping[str, object], types: Mapping[str, pa.DataType], *, first: str = ""
) -> pd.DataFrame:
    """Return the rows of a statement as a frame; NULL is missing, an empty text stays a text.

    `first` is a statement to execute before, with settings for this one.
    """
    file = io.BytesIO()
    connection.ensure_connection()
    with connection.connection.cursor() as cursor:
        if first:
            cursor.execute(first)
        # COPY takes no parameters, so the values are put into the text by the driver. CSV from COPY into Arrow is many
        # times faster than rows from a cursor, and a project may have millions of judgments.
        statement = cursor.mogrify(select, parameters).decode()
        cursor.copy_expert(f"COPY ({statement}) TO STDOUT WITH (FORMAT csv, HEADER)", file)
    file.seek(0)
    frame: pd.DataFrame = pyarrow.csv.read_csv(
        file,
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        # COPY leaves NULL empty and quotes an empty text.
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    ).to_pandas()
    return frame
