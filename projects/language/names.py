"""Names from code and from files, as pages and messages show them."""

CODES = frozenset({"question_type", "semantic_role", "word_sense"})
"""Names of columns and phenomena that files write with an underscore and pages with a space."""


def spell_out(name: str) -> str:
    """Return a name as pages show it; names that people chose themselves keep their underscores."""
    return name.replace("_", " ") if name in CODES else name


# Control characters, zero-width spaces, direction marks and the byte order mark: shown as \uXXXX they can be seen, and
# cannot turn the rest of the sentence around.
INVISIBLE = {code: f"\\u{code:04x}" for code in [*range(0x20), *range(0x7F, 0xA0), *range(0x200B, 0x2010)]} | {
    code: f"\\u{code:04x}" for code in [0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF]
}


def shorten_name(text: str, length: int = 100) -> str:
    """Return a name from outside, short and without invisible characters, so that it fits into a sentence."""
    clean = text.translate(INVISIBLE)
    clean = clean.encode("utf-8", "backslashreplace").decode("utf-8")  # a lone surrogate cannot be sent to a browser
    return clean if len(clean) <= length else clean[: length - 1] + "…"


def shorten_error(error: Exception) -> str:
    """Return the first line of what a library says of an error, or the name of its class if it says nothing."""
    return shorten_name(str(error).splitlines()[0] if str(error) else type(error).__name__)
