"""A set that holds the model of every completion, and what an attempt to prove one ends in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Enum, auto
from typing import Generic, NamedTuple, Self, TypeVar

import numpy as np

from ipub.numeric.rounding import Array

FEWEST_ROWS = 5
"""A sum over the values of fewer training rows than this counts as training rows: a form that keeps none has no such
sum. (A sum over one row is that row up to a factor.) Privacy against width."""

S = TypeVar("S")


class ModelSet(ABC):
    """A set that holds the model w'' of every completion, known by its support function.

    (`DrawBounds` holds the models of draws with a probability: its certificate has no other part.)
    """

    name: str
    """Which theorem it comes from."""
    most_rows: int | None = None
    """For how many rows at a time it is worth its time: a call with more, and a fit, do without it. None: any."""

    @abstractmethod
    def ends(self, X: Array) -> tuple[Array, Array]:
        """Return the lowest and highest ``x.w''`` of each row of X over the set, rounded outward.

        What overflows is infinite or NaN, and bounds nothing.
        """

    @classmethod
    def ends_of_all(cls, sets: Sequence[Self], X: Array) -> tuple[Array, Array]:
        """Return the ends of several sets of this kind, each of shape (len(X), len(sets))."""
        if len(sets) == 1:
            low, high = sets[0].ends(X)
            return low[:, None], high[:, None]
        both = zip(*(each.ends(X) for each in sets), strict=True)
        lows, highs = (np.column_stack(each) for each in both)
        return lows, highs

    @property
    def keeps_training_rows(self) -> bool:
        """Whether training rows are part of it, or sums over fewer than `FEWEST_ROWS` of them."""
        return False

    @property
    def terms_per_row(self) -> int:
        """How many uncertain cells, and levels of missing categories, are looked at for each row that is bounded."""
        return 0

    @abstractmethod
    def without_training_rows(self) -> ModelSet | None:
        """Return a larger set that keeps none; None if there is none."""

    def in_columns(self) -> ModelSet:
        """Return a set that takes the uncertain cells of a column together, not one by one: larger, and faster."""
        return self

    def faster(self) -> ModelSet:
        """Return a set for many rows: a little larger than this, if that is faster."""
        return self


NOT_CLOSED = (
    "These bounds may be wider than necessary: a larger alpha (a smaller C in scikit-learn) gives narrower ones."
)
"""The note where sets were tried, and none proved itself."""


class Reason(Enum):
    """Why an attempt ended as it did."""

    PROVED = auto()
    """There is a set."""
    NOT_TRIED = auto()
    """It was not asked for, or what is known of a similar problem says that it would not pay."""
    TOO_LARGE = auto()
    """The table has too many rows, columns or uncertain cells for the theorem."""
    NOT_APPLICABLE = auto()
    """The theorem says nothing here, or is not tried: a derivative that jumps, a long table, nothing uncertain, or
    weights that are not finite."""
    UNBOUNDED = auto()
    """The relaxation of a guess is unbounded, or cannot be enclosed."""
    HOPELESS = auto()
    """Guesses came no closer to holding what follows from them."""
    NOT_CLOSED = auto()
    """No guess held what follows from it in as many rounds as were allowed."""


class Outcome(NamedTuple, Generic[S]):
    """What an attempt found, or why it found nothing."""

    found: S | None
    reason: Reason
    note: str = ""
    """For people: what is wider than it might be, and what to do."""
