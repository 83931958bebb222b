"""Numbers as answers print them: few digits, and ends of ranges rounded outward."""

from __future__ import annotations

import decimal
import math

DIGITS = 4
"""Digits that are shown of a number below 1, after the point; of larger ones all before it and fewer after it."""

DOWN, UP = decimal.ROUND_FLOOR, decimal.ROUND_CEILING
"""How lower and upper ends are rounded, so that what is printed is a bound as well."""


def shown_number(value: float, rounding: str = decimal.ROUND_HALF_EVEN) -> str:
    """Return a number with few digits; an end is rounded outward.

    Examples
    --------
    >>> shown_number(0.8391666, DOWN), shown_number(0.8391666, UP), shown_number(-12.34567), shown_number(1.0)
    ('0.8391', '0.8392', '-12.35', '1')
    """
    if not math.isfinite(value):
        return str(value)
    before = max(0, math.floor(math.log10(abs(value)))) if value else 0
    step = decimal.Decimal(1).scaleb(-max(0, DIGITS - (before + (before > 0))))
    exact = decimal.Decimal(value)
    rounded = exact.quantize(step, rounding=rounding) if abs(value) < 1e20 else exact
    text = f"{rounded:f}" if abs(value) < 1e20 else f"{value:.4g}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
