"""Wrong labels: at most k of all labels, in any rows of two classes, are wrong (section 13 of the theory)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.numeric.rounding import Array, sum_upper
from ipub.promises.base import Uncertainty
from ipub.rows.ops import largest


@dataclass(frozen=True)
class LargestValues:
    """The `count` largest of non-negative values, along the first axis, of the blocks seen so far; these add."""

    values: Array
    count: int

    @classmethod
    def of(cls, values: Array, count: int) -> LargestValues:
        """Keep the largest values; a NaN counts as large."""
        return cls(largest(values, count), count)

    def __add__(self, other: LargestValues) -> LargestValues:
        return LargestValues.of(np.concatenate([self.values, other.values]), self.count)

    def sum_upper(self, total: float = 1.0) -> Array:
        """Bound from above the sum of the largest of products computed with one rounding, over `total`."""
        return np.asarray(sum_upper(self.values.sum(axis=0) / total, min(self.count, len(self.values)) + 8))


def largest_sum(values: Array, count: int, total: float = 1.0) -> Array:
    """Bound from above the sum of the `count` largest of non-negative products along the first axis, over `total`."""
    return LargestValues.of(values, count).sum_upper(total)


@dataclass(frozen=True)
class WrongLabels(Uncertainty):
    """At most `count` of all rows have the other label: a sum over them is that of the `count` largest values."""

    count: int

    def partial_sum(self, values: Array) -> LargestValues:
        """Return what a block adds to the greatest sum, over the wrong labels, of non-negative values of the rows."""
        return LargestValues.of(values, self.count)
