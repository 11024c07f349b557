"""WordNet's synonyms, if its data is on this machine: in nltk's folders, or from a package of the system."""

from functools import cache, lru_cache
from io import StringIO
from pathlib import Path
from typing import IO, Any

SYSTEM_FOLDERS = (Path("/usr/share/wordnet"),)
"""The folder of Debian's package wordnet-base."""

_N_LEXICOGRAPHER_FILES = 45
"""The number of lexicographer files of WordNet 3.0; its data refers to them by number."""


class Synonyms:
    """The part of WordNet that nltk's METEOR uses, with a cache; without data, no word has a synonym."""

    def __init__(self, reader: Any = None) -> None:
        self._reader = reader
        self.synsets = lru_cache(maxsize=100_000)(self._synsets)

    def _synsets(self, word: str) -> list[Any]:
        return list(self._reader.synsets(word)) if self._reader else []


def find_wordnet() -> Any:
    """Find WordNet's data.

    Returns
    -------
    nltk.data.PathPointer or None
        The folder, in nltk's own folders or in the system's; None if it is in neither.

    Examples
    --------
    >>> found = find_wordnet()
    >>> found is None or "wordnet" in str(found)
    True
    """
    import nltk

    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            return nltk.data.find(name)
        except LookupError:
            continue
    folder = next((str(each) for each in SYSTEM_FOLDERS if (each / "data.noun").exists()), None)
    if folder is None:
        return None
    if folder not in nltk.data.path:
        nltk.data.path.append(folder)  # nltk reads files below these folders only.
    return nltk.data.FileSystemPathPointer(folder)


@cache
def read_wordnet() -> Synonyms:
    """Read WordNet's data, once per process.

    Returns
    -------
    Synonyms
        Without data, no word has a synonym.

    Examples
    --------
    >>> read_wordnet() is read_wordnet()
    True
    """
    from warnings import catch_warnings, simplefilter

    from nltk.corpus.reader import WordNetCorpusReader

    class Reader(WordNetCorpusReader):  # type: ignore[misc]  # nltk has no types
        def open(self, file: str) -> IO[str]:
            """Open a file, with made-up names for the lexicographer files, which Debian's package leaves out."""
            if file == "lexnames":
                return StringIO("".join(f"{number:02} unnamed 0\n" for number in range(_N_LEXICOGRAPHER_FILES)))
            return super().open(file)  # type: ignore[no-any-return]

        def map_wn(self) -> dict[str, Any]:
            """Return no numbers of other WordNet versions; only other languages need them."""
            return {}

    folder = find_wordnet()
    if folder is None:
        return Synonyms()
    with catch_warnings():
        # nltk warns that data for other languages is missing, which is not used.
        simplefilter("ignore")
        return Synonyms(Reader(folder, None))
