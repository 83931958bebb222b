"""Random holes: missing values, independent from row to row, with means near the filled-in ones (Theorem 10)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

from ipub.errors import IpubError
from ipub.uncertainty.budget import GIVEN
from ipub.uncertainty.described import Described, percent_of_success

BLOCKS, CLAIMS = ("rows", "cells"), ("row", "rows", "all")


@dataclass(frozen=True, eq=False, repr=False)
class RandomHoles(Described):
    """Missing values are random: independent from row to row, inside their intervals, with means near the filling.

    The model is trained on a filled-in table. Its bounds hold with probability ``1 - delta`` over the missing values,
    whatever their law, if the means are at most `bias` half-widths of their intervals off. An error that is shared by
    all rows, as that of a wrong imputation model, is bias and not chance. The probability is not over the choice of the
    people or things in the table.

    Parameters
    ----------
    bias : float, default=0.1
        How far the mean of a missing value may be from the filled-in one, in half-widths of its interval: 0 to 1.
    delta : float, default=0.01
        With which probability, at most, the bounds fail.
    blocks : {"rows", "cells"}, default="rows"
        What is independent: rows, each with missing values that depend on each other in any way; or all missing values.
    claim : {"row", "rows", "all"}, default="row"
        What fails with probability at most `delta`: the bounds of one row that was chosen without a look at the bounds;
        those of any of the rows of one call; or those of any row whatsoever, which is wider.
    filling : "middle", "mean", "median", imputer, array or DataFrame, optional
        As in `Budget`.

    Examples
    --------
    >>> from ipub import RandomHoles
    >>> print(RandomHoles(bias=0).promise)
    With probability 99 %, over the missing values and for each row by itself, the bounds hold: if missing values are
    independent from row to row, inside their intervals, and have the filled-in ones as their means.
    """

    bias: float = 0.1
    delta: float = 0.01
    blocks: Literal["rows", "cells"] = "rows"
    claim: Literal["row", "rows", "all"] = "row"
    filling: Any = None

    def check(self) -> None:
        """Raise an error if a parameter has a value that it cannot have."""
        for name, low, high in (("bias", 0.0, 1.0), ("delta", 0.0, 1.0)):
            value = getattr(self, name)
            if not isinstance(value, Real) or isinstance(value, bool) or not low <= float(value) <= high:
                raise IpubError(f"{name} is {value!r}: give a number from {low:g} to {high:g}.")
        if not 0.0 < self.delta < 1.0:
            raise IpubError(f"delta is {self.delta!r}: give a probability above 0 and below 1.")
        for name, choices in (("blocks", BLOCKS), ("claim", CLAIMS)):
            if getattr(self, name) not in choices:
                raise IpubError(f"{name} is {getattr(self, name)!r}: use {' or '.join(map(repr, choices))}.")

    @property
    def promise(self) -> str:
        """One sentence that says what the bounds promise."""
        of = {"row": "for each row by itself", "rows": "for all rows of a call together", "all": "for all rows at once"}
        from_to = "row to row" if self.blocks == "rows" else "cell to cell"
        means = (
            f"means within {self.bias:g} half-widths of the filled-in ones"
            if self.bias
            else "the filled-in ones as their means"
        )
        percent = percent_of_success(Decimal(repr(float(self.delta))))
        return (
            f"With probability {percent} %, over the missing values and {of[self.claim]}, the "
            f"bounds hold: if missing values are independent from {from_to}, inside their intervals, and have {means}."
        )

    def stored(self) -> RandomHoles:
        """Return what a model file holds: a filling is training data, and no part of it."""
        return self if self.filling is None or isinstance(self.filling, str) else replace(self, filling=GIVEN)
