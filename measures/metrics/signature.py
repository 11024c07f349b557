"""Signatures: a configured metric on one line, as a paper prints it, and read back from it."""

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import quote, unquote

from measures.metrics.metric import Metric
from measures.metrics.registry import METRICS

ALIASES = {"against": "refs", "tokeniser": "tok"}
"""Settings that most metrics share, under the short names that come first in a signature."""
VERSION, ORIGIN = "version", "origin"
_OWN_KEYS = {*ALIASES.values(), VERSION, ORIGIN}
_SETTINGS = {alias: name for name, alias in ALIASES.items()}


@dataclass(frozen=True, kw_only=True)
class Signature:
    """What a signature says.

    Attributes
    ----------
    name : str
        The metric.
    settings : mapping of str to str
        Every setting, by its full name; values as they are written, booleans as yes or no.
    version : str
        The version of this program; empty if none is given.
    packages : mapping of str to str
        The versions of the libraries that the scores depend on.
    origin : str
        Where the scores come from, such as "file"; empty if they were computed here.
    """

    name: str
    settings: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""


def format_signature(
    name: str,
    settings: Mapping[str, Any],
    *,
    version: str = "",
    packages: Mapping[str, str] | None = None,
    origin: str = "",
) -> str:
    """Return the signature of a configured metric.

    Parameters
    ----------
    name : str
        The metric, such as "rouge_l".
    settings : mapping
        All of its settings, as `Metric.settings` returns them; their order does not matter.
    version : str
        The version of this program.
    packages : mapping of str to str
        The versions of the libraries that the scores depend on.
    origin : str
        Where the scores come from if they were not computed here, such as "file".

    Returns
    -------
    str
        One line of ASCII letters, digits and `_.-+~%`, divided by `|` and `:`. Any other character of a name or value
        is percent-encoded. References and tokeniser come first, then the other settings by name, then versions.

    References
    ----------
    In the manner of M. Post (2018), A Call for Clarity in Reporting BLEU Scores, WMT.

    Examples
    --------
    >>> settings = {"tokeniser": "alnum", "rouge_beta": 1.2, "stem": False, "against": "others"}
    >>> format_signature("rouge_l", settings, version="0.1.0")
    'rouge_l|refs:others|tok:alnum|rouge_beta:1.2|stem:no|version:0.1.0'
    """
    parts = [_quote(name)]
    if origin:
        parts.append(f"{ORIGIN}:{_quote(origin)}")
    first = [each for each in ALIASES if each in settings]
    keys = [*first, *sorted(settings.keys() - set(first))]
    parts += [f"{ALIASES.get(key) or _quote_key(key)}:{_format_value(settings[key])}" for key in keys]
    # What follows the version are libraries, so that a library and a setting may share a name.
    if version or packages:
        parts.append(f"{VERSION}:{_quote(version)}")
    parts += [f"{_quote_key(each)}:{_quote(number)}" for each, number in sorted((packages or {}).items())]
    return "|".join(parts)


def parse_signature(text: str) -> Signature:
    """Read a signature.

    Parameters
    ----------
    text : str
        As `format_signature` returns it.

    Returns
    -------
    Signature
        With every name and value decoded.

    Raises
    ------
    ValueError
        A part is not of the form key:value, or a key is given twice.

    Examples
    --------
    >>> found = parse_signature("rouge_l|refs:others|tok:alnum|version:0.1.0|jieba:0.42.1")
    >>> found.settings, found.version, found.packages
    ({'against': 'others', 'tokeniser': 'alnum'}, '0.1.0', {'jieba': '0.42.1'})
    """
    name, *parts = text.split("|")
    settings: dict[str, str] = {}
    packages: dict[str, str] = {}
    own: dict[str, str] = {}
    for part in parts:
        key, colon, value = part.partition(":")
        if not (key and colon):
            raise ValueError(f"“{part}” in a signature is not of the form key:value.")
        target = own if key in (VERSION, ORIGIN) else packages if VERSION in own else settings
        key = _SETTINGS.get(key) or unquote(key)
        if key in target:
            raise ValueError(f"“{key}” is in the signature twice.")
        target[key] = unquote(value)
    version, origin = own.get(VERSION, ""), own.get(ORIGIN, "")
    return Signature(name=unquote(name), settings=settings, version=version, packages=packages, origin=origin)


def decode_letters(text: str) -> str:
    """Return a signature with the letters of all scripts as they are, for people who read it.

    Parameters
    ----------
    text : str
        As `format_signature` returns it.

    Returns
    -------
    str
        What `parse_signature` reads as the same signature: signs and spaces stay percent-encoded.

    Examples
    --------
    >>> decode_letters("bertscore|origin:file|column:f%C3%BCr%20alle|sha256:9f86d081884c")
    'bertscore|origin:file|column:für%20alle|sha256:9f86d081884c'
    """
    # ASCII, whose signs divide the parts, is left as it is.
    return re.sub("(?:%[89A-F][0-9A-F])+", lambda found: _decode(found[0]), text)


def make_from_signature(text: str) -> Metric:
    """Return the configured metric that a signature names.

    Parameters
    ----------
    text : str
        The signature of a metric that is computed here; its versions are not compared with those installed.

    Returns
    -------
    Metric
        With the same settings; those that the signature leaves out have their defaults.

    Raises
    ------
    ValueError
        The signature cannot be read, is of scores from elsewhere, or names a metric, setting or value that there is
        not.

    Examples
    --------
    >>> make_from_signature("rouge_l|refs:others|rouge_beta:1|stem:yes").settings()["stem"]
    True
    """
    found = parse_signature(text)
    if found.origin:
        raise ValueError(f"These scores are not computed here: they come from a {found.origin}.")
    if found.name not in METRICS:
        raise ValueError(f"There is no metric “{found.name}”. Metrics: {', '.join(sorted(METRICS))}.")
    metric = METRICS[found.name]
    defaults = {each.name: each.default for each in fields(metric.metric)}
    given = {name: _read_value(name, value, defaults.get(name, "")) for name, value in found.settings.items()}
    # Settings that the name implies, such as the order of "bleu_4", are in the signature but not for the user to set.
    implied = {name: given.pop(name) for name in metric.fixed if name in given}
    if "references" not in metric.metric.needs:
        given.pop("against", None)
    made = metric.make(**given)
    for name, value in implied.items():
        if getattr(made, name) != value:
            raise ValueError(f"{found.name} has {name} {getattr(made, name)}, not {value}.")
    return made


def _quote(text: str) -> str:
    return quote(text, safe="+")


def _decode(text: str) -> str:
    # Letters and the marks on them; other signs may look like our own, or like nothing.
    return "".join(each if unicodedata.category(each)[0] in "LM" else quote(each) for each in unquote(text))


def _quote_key(key: str) -> str:
    quoted = _quote(key)
    # A setting of such a name would be taken for one of our own keys.
    return f"%{ord(quoted[0]):02X}{quoted[1:]}" if quoted in _OWN_KEYS else quoted


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return _quote(value)
    # A database may return 2.0 as 2: numbers that are equal are written in the same way.
    if isinstance(value, float):
        return _quote(str(int(value)) if value.is_integer() else repr(value))
    if isinstance(value, int):
        return str(value)
    return _quote(json.dumps(value, sort_keys=True, separators=(",", ":")))


def _read_value(name: str, text: str, default: Any) -> Any:
    """Return a value in the type of the setting's default."""
    if isinstance(default, str):
        return text
    try:
        return {"yes": True, "no": False}[text] if isinstance(default, bool) else type(default)(text)
    except (KeyError, ValueError) as error:
        wanted = "yes or no" if isinstance(default, bool) else "a number"
        raise ValueError(f"{name} must be {wanted}, not “{text}”.") from error
