"""Numbers, money, durations, days and times in the form of the current language.

English is formatted by hand, because nearly all pages are in English and Babel takes over twenty times as long.
"""

from datetime import date, datetime
from decimal import Decimal

from babel.dates import format_skeleton
from babel.numbers import format_currency, format_decimal
from babel.numbers import format_percent as format_percent_in
from django.utils import dateformat
from django.utils.translation import gettext, ngettext

from projects.language.languages import current_language, locale

CURRENCY = "USD"
# Of ISO 4217. The smallest unit of every other currency is a hundredth.
_DECIMALS = dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3) | dict.fromkeys(
    (
        *("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG"),
        *("RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF"),
    ),
    0,
)
LONG = 1e12
"""From this number on a figure is written with an exponent."""
LEFT_TO_RIGHT = "\u2066{}\u2069"
"""Keeps the parts of an amount in order inside a text that is written from right to left."""


def format_number(value: float) -> str:
    """Return 12480 as 12,480; a fraction gets one decimal."""
    is_whole = value == int(value)
    if current_language() == "en":
        return f"{value:,.0f}" if is_whole else f"{value:,.1f}"
    return str(format_decimal(value, "#,##0" if is_whole else "#,##0.0", locale()))


def format_score(value: float, digits: int) -> str:
    """Return a figure with this many decimals and a real minus sign, for pages that exist in English only."""
    return write_decimal(value, digits).replace("-", "−")


def write_decimal(value: float, digits: int) -> str:
    """Return a figure with this many decimals and a hyphen for a minus; one of more than 12 digits as 1.15e+97."""
    if abs(value) >= LONG:
        return f"{value:.{digits}e}"
    # A sum in another order differs in the last digits of a float, which must not decide how a tie is rounded.
    text = f"{round(value, 10):.{digits}f}"
    # Rounding a small negative number leaves "-0.00", which reads as a mistake.
    return text.removeprefix("-") if float(text) == 0 else text


def plural(n: float, one: str, many: str) -> str:
    """Return the form of a sentence that agrees with n, for pages that exist in English only."""
    return one if n == 1 else many


def format_money(cents: int) -> str:
    """Return US cents as dollars: 655 as $6.55."""
    if current_language() == "en":
        return f"{'-' if cents < 0 else ''}${abs(cents) / 100:,.2f}"
    if locale().text_direction == "rtl":
        return LEFT_TO_RIGHT.format(format_currency(cents / 100, CURRENCY, "¤\xa0#,##0.00", locale()))
    return str(format_currency(cents / 100, CURRENCY, locale=locale()))


def format_units(units: int, currency: str) -> str:
    """Return an amount in a currency's smallest unit: 655 as 6.55 GBP, but as 655 JPY, for English pages only."""
    digits = _DECIMALS.get(currency, 2)
    return f"{units / 10**digits:,.{digits}f} {currency}".rstrip()


def format_hours(value: float) -> str:
    """Return hours in the unit that suits them: minutes, hours or days."""
    if value < 1:
        minutes = round(round_hours(value) * 60)
        return ngettext("{n} minute", "{n} minutes", minutes).format(n=minutes)
    if value < 48:
        return gettext("{n} hours").format(n=_tenths(value))
    return gettext("{n} days").format(n=_tenths(value / 24))


def round_hours(value: float) -> float:
    """Return hours as `format_hours` shows them, for totals that are the sums of what is shown."""
    if value < 1:
        return max(1 if value > 0 else 0, round(value * 60)) / 60
    return round(value, 1) if value < 48 else round(value / 24, 1) * 24


def format_percent(share: float) -> str:
    """Return a share as per cent, never rounded up to 100 nor down to 0: “100 %” means that nothing is missing."""
    rounded = round(share * 100)
    if rounded == 100 and share < 1:
        rounded = 99
    least = rounded == 0 and share > 0
    if current_language() == "en":
        return "<1 %" if least else f"{rounded} %"
    text = str(format_percent_in(0.01 if least else rounded / 100, locale=locale()))
    return f"<{text}" if least else text


def write_percent(share: float) -> str:
    """Return a share that somebody set, such as a fee, as the per cent that they entered: 0.125 as 12.5."""
    # By way of the shortest text of the float: 0.29 * 100 is 28.999999999999996.
    return f"{(Decimal(str(share)) * 100).normalize():f}"


def format_day(at: date) -> str:
    """Return a day as 21 Nov 2026."""
    return _format_date(at, "j M Y", "yMMMd")


def format_moment(at: datetime) -> str:
    """Return a time as 21 Nov 2026, 14:05."""
    return _format_moment(at, "j M Y, H:i", "yMMMd")


def format_near_moment(at: datetime) -> str:
    """Return a time as 21 Nov, 14:05, for one that is not far from now."""
    return _format_moment(at, "j M, H:i", "MMMd")


def _format_date(at: date, english: str, skeleton: str) -> str:
    if current_language() == "en":
        return dateformat.format(at, english)
    return str(format_skeleton(skeleton, at, locale=locale()))


def _format_moment(at: datetime, english: str, skeleton: str) -> str:
    if current_language() == "en":
        return dateformat.format(at, english)
    both = str(locale().datetime_formats["medium"])
    return both.replace("{1}", _format_date(at, english, skeleton)).replace("{0}", f"{at:%H:%M}")


def _tenths(value: float) -> str:
    return f"{value:,.1f}" if current_language() == "en" else str(format_decimal(value, "#,##0.0", locale()))
