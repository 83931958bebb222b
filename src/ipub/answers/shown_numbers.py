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


def share_in_words(share: float) -> str:
    """Return a share of values in per cent: two digits of a small one, else whole per cent, rounded down.

    Examples
    --------
    >>> share_in_words(2 / 151), share_in_words(0.9), share_in_words(275 / 276)
    ('1.3 %', '90 %', '99 %')
    """
    parts = 100.0 * share + 1e-9
    return f"{parts:.2g} %" if parts < 9.5 else f"{int(parts)} %"
