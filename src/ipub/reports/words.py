"""Texts and numbers as a report shows them."""

from __future__ import annotations

import decimal
import math
import unicodedata
from typing import Any

LONGEST = 300
"""Characters of a name or a value, at most: what is longer is cut, and ends with an ellipsis."""
TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Characters that change the direction of the text after them; letters have a direction of their own."""
NOTHING = "–"
MINUS = "−"


def text(value: Any, longest: int = LONGEST) -> str:
    r"""Return a name or a value as one line that any encoding of Unicode can hold.

    Examples
    --------
    >>> text("two\nlines"), text("a" * 9, 5), text(2.50), text(float("nan"))
    ('two lines', 'aaaa…', '2.5', '–')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NOTHING
    if isinstance(value, float):
        return f"{value:.6g}"
    line = " ".join(str(value).split())
    line = "".join("\ufffd" if _is_unprintable(sign) else sign for sign in line)
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _is_unprintable(sign: str) -> bool:
    """Whether it is a control character, half of a pair, or turns the direction of what follows."""
    return unicodedata.category(sign) in ("Cc", "Cs") or sign in TURNING


def number(value: float | None, rounding: str | None = None, digits: int = 4) -> str:
    """Return a number with so many digits; a bound is rounded as `rounding` says, a constant of `decimal`.

    Examples
    --------
    >>> number(0.123456), number(1234.56, decimal.ROUND_CEILING), number(float("-inf")), number(None)
    ('0.1235', '1235', '−∞', '–')
    """
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    rounded = decimal.Context(prec=digits, rounding=rounding).create_decimal_from_float(float(value))
    return f"{float(rounded):.{digits}g}".replace("-", MINUS)


def lower(value: float | None, digits: int = 4) -> str:
    """Return a lower bound, rounded down."""
    return number(value, decimal.ROUND_FLOOR, digits)


def upper(value: float | None, digits: int = 4) -> str:
    """Return an upper bound, rounded up."""
    return number(value, decimal.ROUND_CEILING, digits)


def percent(share: float) -> str:
    """Return a share in per cent, rounded down: never more than is proved.

    Examples
    --------
    >>> percent(0.29), percent(0.999), percent(0.001)
    ('29 %', '99 %', '0.1 %')
    """
    parts = 100.0 * share + 1e-9
    return f"{int(10.0 * parts) / 10.0:g} %" if parts < 10.0 else f"{int(parts)} %"


def percent_at_most(share: float) -> str:
    """Return a share in per cent, rounded up: never less than is proved.

    Examples
    --------
    >>> percent_at_most(0.2901), percent_at_most(0.0101), percent_at_most(1.0)
    ('30 %', '1.1 %', '100 %')
    """
    parts = 100.0 * share - 1e-9
    return f"{math.ceil(10.0 * parts) / 10.0:g} %" if parts < 10.0 else f"{math.ceil(parts)} %"


def count(number: int, one: str, many: str | None = None) -> str:
    """Return how many there are of something.

    Examples
    --------
    >>> count(1, "row"), count(1200, "row"), count(0, "entry", "entries")
    ('1 row', '1,200 rows', '0 entries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
