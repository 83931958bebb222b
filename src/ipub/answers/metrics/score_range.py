"""The range of a metric, as users see it."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any

from ipub.answers.shown_numbers import DOWN, UP, shown_number
from ipub.numeric.rounding import EPS


@dataclass(frozen=True, repr=False)
class ScoreRange:
    """Between which values a metric is, whatever the missing values of the training table are."""

    metric: str
    value: float
    """Of the model that `predict` uses, which is trained up to `tol`: a loose one may leave it outside of the range."""
    lower: float
    upper: float
    """Certified: for every table that `promise` is about, the metric of its model is between these."""
    attained_lower: float
    attained_upper: float
    """The metric of models that were trained on fillings, found by a search; NaN where none was made."""
    promise: str
    """What the certified ends promise, in a sentence or two."""
    how_often: str
    """The same in a few words."""
    is_fraction: bool = False
    """Whether its exact ends are fractions of numbers of rows or pairs."""
    notes: tuple[str, ...] = ()
    """What is undefined or was not searched for, and why."""

    def __repr__(self) -> str:
        if math.isnan(self.value):
            return f"{self.metric} is not defined: {' '.join(self.notes)}"
        lower = shown_end(self.lower, DOWN, is_fraction=self.is_fraction)
        upper = shown_end(self.upper, UP, is_fraction=self.is_fraction)
        parts = [f"{self.metric} {shown_number(self.value)}: between {lower} and {upper} {self.how_often}"]
        if not math.isnan(self.attained_lower):
            parts.append(f"; fillings reach {shown_number(self.attained_lower)} to {shown_number(self.attained_upper)}")
        return "".join(parts)

    def _repr_html_(self) -> str:
        name = html.escape(self.metric)
        text = html.escape(repr(self).removeprefix(self.metric).strip())
        return f'<p title="{html.escape(self.promise, quote=True)}"><b>{name}</b> {text}</p>'

    def as_columns(self) -> dict[str, Any]:
        """Return what a row of a frame has of it."""
        names = ("metric", "value", "lower", "upper", "attained_lower", "attained_upper")
        return {name: getattr(self, name) for name in names}


def shown_end(value: float, rounding: str, *, is_fraction: bool) -> str:
    """Return a certified end with few digits, rounded outward.

    A fraction of numbers of rows or pairs that is so near a number of few digits is that number: two that differ are
    farther apart.

    Examples
    --------
    >>> shown_end(0.3 + 0.6, DOWN, is_fraction=False), shown_end(0.3 + 0.6, DOWN, is_fraction=True)
    ('0.8999', '0.9')
    """
    slack = 8.0 * EPS if is_fraction else 0.0
    return shown_number(value + slack if rounding == DOWN else value - slack, rounding)
