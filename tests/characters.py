"""The characters that XML 1.0 forbids, apart from surrogates, which no encoding can write."""

FORBIDDEN_CHARACTERS = "".join(chr(code) for code in range(0x20) if chr(code) not in "\t\n\r") + "\ufffe\uffff"
