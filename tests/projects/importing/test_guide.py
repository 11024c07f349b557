"""The guide to importing names the limits that files have."""

from django.conf import settings

from projects.importing.limits import DEFAULT_LIMITS, MIB


def test_the_guide_names_the_limits() -> None:
    guide, limits = (settings.GUIDES_DIR / "importing.md").read_text(encoding="utf-8"), DEFAULT_LIMITS
    for words in (
        (
            f"A cell has at most {limits.cell_bytes // MIB} MiB, a file at most {limits.columns} columns "
            f"and {limits.rows:,} rows"
        ),
        f"files of up to {limits.file_bytes // MIB // 1024} GiB",
        f"Up to {limits.rows_skipped:,} rows can be skipped",
        f"| blank lines, and rows with too many or too few cells | {limits.rows_left_out:,},",
        f"| lines of a text file; cells may have several | {limits.lines:,} |",
        f"| characters of a row | {limits.row_chars:,} |",
        f"| values in one entry of a JSON file, such as the members of its lists | {limits.json_values:,} |",
        f"| references of a question, from all files together | {limits.list_entries:,} |",
        f"each as often as a cell has it | {limits.decoded_bytes // MIB // 1024} GiB |",
        f"| an Excel file when decompressed | {limits.archive_bytes // MIB} MiB, of which ",
        f" MiB, of which {limits.shared_text_bytes // MIB} MiB for texts that cells share, ",
        f" for texts that cells share, and {limits.archive_ratio} times its size |",
    ):
        assert words in guide, words
