"""Citing a set: its authors, and its reference as a sentence, as BibTeX and as CITATION.cff."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from babel import Locale

from projects.errors import Refused
from results.sets.licences import LICENCES
from results.sets.provenance import Terms

BIBTEX, CFF = "citation.bib", "CITATION.cff"
FINGERPRINTED = "long.jsonl"
"""The file whose SHA-256 a reference names: no file of an archive can hold the archive's own."""
MOST_AUTHORS = 100
AUTHOR_LENGTH = 200
DOI = re.compile(r"10\.[0-9]{4,9}/[-._;()/:A-Za-z0-9]{1,180}")
_DOI_STARTS = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:)\s*", re.IGNORECASE)
_LANGUAGE = re.compile(r"[a-z]{2,3}")


@dataclass(frozen=True, kw_only=True)
class Author:
    """A person, or an organisation, which has a name alone."""

    name: str = ""
    family: str = ""
    given: str = ""
    particle: str = ""
    """Words before the family name in lower case, such as “van der”."""
    suffix: str = ""

    def __str__(self) -> str:
        """The name as a sentence has it."""
        parts = (self.given, self.particle, self.family)
        words = " ".join(part for part in parts if part) or self.name
        return f"{words}, {self.suffix}" if self.suffix else words


@dataclass(frozen=True, kw_only=True)
class Citation:
    """What a reference to a set says."""

    key: str
    title: str
    authors: tuple[Author, ...]
    has_named_authors: bool
    """Whether somebody named the authors; else the project is named instead."""
    date: str
    version: str
    about: str
    fingerprints: tuple[tuple[str, str], ...]
    """Files with their SHA-256."""
    licence: str
    url: str
    doi: str = ""


def make_citation(
    about: Terms, *, key: str, title: str, sentence: str, fingerprints: Sequence[tuple[str, str]], doi: str = ""
) -> Citation:
    """Return the reference of a set from its `set.json`, in which older sets have neither authors nor a licence."""
    settings = about["settings"]
    named = tuple(parse_author(each) for each in settings.get("authors", ()))
    return Citation(
        key=key,
        title=title,
        authors=named or (Author(name=_flatten(about["project"]["name"])),),
        has_named_authors=bool(named),
        date=about["snapshot_at"][:10],
        version=str(about["set"]["number"]),
        about=sentence,
        fingerprints=tuple(fingerprints),
        licence=settings.get("licence", ""),
        url=about.get("url", ""),
        doi=doi,
    )


def parse_author(text: str) -> Author:
    """Read “Family, Given”, “van der Family, Given”, “Family, Jr., Given”, or “{Organisation}”. Raises Refused."""
    text = _flatten(text)
    if len(text) > AUTHOR_LENGTH:
        raise Refused(f"An author has more than {AUTHOR_LENGTH} characters. Enter one author per line.")
    if found := re.fullmatch(r"\{([^{}]+)\}", text):
        return Author(name=found[1].strip())
    parts = [part.strip() for part in text.split(",")]
    if len(parts) not in (2, 3) or not all(parts) or "{" in text or "}" in text:
        raise Refused(
            f"“{text}” can't be read as an author. Write “Family, Given”, or an organisation in braces: {{University}}."
        )
    words = parts[0].split()
    n_particle = next((n for n, word in enumerate(words) if not word[0].islower()), 0)
    return Author(
        particle=" ".join(words[:n_particle]),
        family=" ".join(words[n_particle:]),
        suffix=parts[1] if len(parts) == 3 else "",
        given=parts[-1],
    )


def refuse_wrong_terms(authors: Iterable[str], licence: str, languages: Iterable[str]) -> None:
    """Raise Refused for an author, licence or language that no reference or dataset card can hold."""
    listed = list(authors)
    if len(listed) > MOST_AUTHORS:
        raise Refused(f"Name at most {MOST_AUTHORS} authors.")
    for author in listed:
        parse_author(author)
    if licence and licence not in LICENCES:
        raise Refused(f"There is no licence “{licence}”. Choose one of: {', '.join(LICENCES)}.")
    for language in languages:
        # Of codes of two letters all are known; of those of three, only some.
        is_known = len(language) == 3 or language in Locale("en").languages
        if not _LANGUAGE.fullmatch(language) or not is_known:
            raise Refused(f"“{language}” is no language code. Use codes of two or three letters, such as en or de.")


def parse_doi(text: str) -> str:
    """Return a DOI without the address or prefix it was given with; empty for an empty text. Raises Refused."""
    doi = _DOI_STARTS.sub("", text.strip(), count=1)
    if doi and not DOI.fullmatch(doi):
        raise Refused(f"“{text.strip()[:80]}” is not a DOI. A DOI looks like 10.5281/zenodo.1234567.")
    return doi


def format_sentence(citation: Citation) -> str:
    """Return the reference as a list of references has it; a project that stands for authors is in the title alone."""
    about = f"{citation.title} ({citation.date[:4]})."
    if citation.has_named_authors:
        authors = "; ".join(map(_name_in_list, citation.authors))
        about = f"{authors} ({citation.date[:4]}). {citation.title.rstrip('.')}."
    licence = f"Licence: {citation.licence}." if citation.licence else ""
    doi = f"https://doi.org/{citation.doi}" if citation.doi else ""
    return " ".join(part for part in (about, citation.about, licence, doi) if part)


def format_bibtex(citation: Citation) -> str:
    """Return an entry that BibTeX and biber read; letters outside Latin stay as they are."""
    note = [citation.about, *(f"SHA-256 of {name}: {sha256}." for name, sha256 in citation.fingerprints)]
    if citation.licence:
        note.append(f"Licence: {citation.licence}.")
    fields = {
        "author": " and ".join(map(_format_bibtex_author, citation.authors)),
        # Braces keep the capitals of a title.
        "title": f"{{{escape_bibtex(citation.title)}}}",
        "year": citation.date[:4],
        "version": escape_bibtex(citation.version),
        "howpublished": "Data set",
        "doi": citation.doi,
        "url": citation.url,
        "note": escape_bibtex(" ".join(note)),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@misc{{{citation.key},", *lines, "}"]) + "\n"


def format_cff(citation: Citation) -> str:
    """Return CITATION.cff in version 1.2.0 of the format."""
    content: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "If you use these data, please cite them as below.",
        "type": "dataset",
        "title": citation.title,
        "authors": [_describe_author(each) for each in citation.authors],
        "abstract": citation.about,
        "version": citation.version,
        "date-released": citation.date,
        "license": citation.licence,
        "doi": citation.doi,
        "url": citation.url,
        "identifiers": [
            {"type": "other", "value": f"sha256:{sha256}", "description": f"SHA-256 of {name}"}
            for name, sha256 in citation.fingerprints
        ],
    }
    return dump_yaml({name: value for name, value in content.items() if value})


def dump_yaml(content: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000)
    return text


_BIBTEX = {
    "\\": r"\textbackslash{}",
    # BibTeX counts braces even behind a backslash, so that a single one would swallow the rest of the file.
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "{''}",
    "ß": r"{\ss}",
    "ø": r"{\o}",
    "Ø": r"{\O}",
    "æ": r"{\ae}",
    "Æ": r"{\AE}",
    "œ": r"{\oe}",
    "Œ": r"{\OE}",
    "ł": r"{\l}",
    "Ł": r"{\L}",
    "ı": r"{\i}",
    "“": "``",
    "”": "{''}",
    "‘": "`",
    "’": "'",
    "–": "--",
    "—": "---",
    "…": r"{\ldots}",
}
_ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0304": "=",
    "\u0306": "u",
    "\u0307": ".",
    "\u0308": '"',
    "\u030a": "r",
    "\u030b": "H",
    "\u030c": "v",
    "\u0327": "c",
    "\u0328": "k",
}


_OPENING_QUOTE = re.compile(r'(?<![^\s(\[{“‘/–—-])"(?=\S)')
"""A straight quotation mark where one opens; every other one closes."""


def escape_bibtex(text: str) -> str:
    """Return a text that BibTeX and LaTeX set as it is; accented Latin letters as the commands that both sort by."""
    quoted = _OPENING_QUOTE.sub("“", _flatten(text))
    return "".join(map(_escape_character, unicodedata.normalize("NFC", quoted)))


def _escape_character(character: str) -> str:
    if character in _BIBTEX:
        return _BIBTEX[character]
    base, *marks = list(unicodedata.normalize("NFD", character))
    if len(marks) == 1 and marks[0] in _ACCENTS and base.isascii():
        accent = _ACCENTS[marks[0]]
        # An i or j under an accent loses its dot.
        base = f"\\{base}" if base in "ij" and accent not in "ck" else base
        space = " " if accent.isalpha() and not base.startswith("\\") else ""
        return f"{{\\{accent}{space}{base}}}"
    return character


def _name_in_list(author: Author) -> str:
    """Return a name with the family name first."""
    last = " ".join(part for part in (author.particle, author.family) if part)
    return author.name or ", ".join(part for part in (last, author.suffix, author.given) if part)


def _format_bibtex_author(author: Author) -> str:
    if author.name:
        return f"{{{escape_bibtex(author.name)}}}"
    last = " ".join(part for part in (author.particle, author.family) if part)
    parts = (last, author.suffix, author.given)
    # The word “and” divides authors, so that one within a name is braced.
    return ", ".join(re.sub(r"\b(and)\b", r"{\1}", escape_bibtex(part), flags=re.IGNORECASE) for part in parts if part)


def _describe_author(author: Author) -> dict[str, str]:
    keys = {
        "name": author.name,
        "family-names": author.family,
        "given-names": author.given,
        "name-particle": author.particle,
        "name-suffix": author.suffix,
    }
    return {key: value for key, value in keys.items() if value}


def _flatten(text: str) -> str:
    """Return a text on one line without control characters."""
    return " ".join("".join(" " if unicodedata.category(each) == "Cc" else each for each in text).split())
