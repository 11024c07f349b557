"""Names from code and from files, as pages and messages show them."""

CODES = frozenset({"question_type", "semantic_role", "word_sense"})
"""Names of columns and of phenomena that are written with an underscore in files, and with a space on pages."""


def spell_out(name: str) -> str:
    """Return a name as pages show it; what people named themselves keeps its underscores."""
    return name.replace("_", " ") if name in CODES else name


INVISIBLE = {code: f"\\u{code:04x}" for code in [*range(0x20), *range(0x7F, 0xA0), *range(0x200B, 0x2010)]} | {
    code: f"\\u{code:04x}" for code in [0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF]
}


def shorten_name(text: str, length: int = 100) -> str:
    """A name from outside, safe and short enough to stand in a sentence."""
    clean = text.translate(INVISIBLE)
    clean = clean.encode("utf-8", "backslashreplace").decode("utf-8")
    return clean if len(clean) <= length else clean[: length - 1] + "…"
