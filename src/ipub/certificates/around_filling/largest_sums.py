"""Sums of the largest of several numbers, rounded up."""

from __future__ import annotations

import numpy as np

from ipub.rounding import Array, sum_upper


def largest_sum_upper(values: Array, count: int) -> Array:
    """Bound the sum of the `count` largest of non-negative values along the last axis; all if there are no more.

    Examples
    --------
    >>> bool(5.0 <= largest_sum_upper(np.array([1.0, 3.0, 2.0]), 2) < 5.0 + 1e-14)
    True
    """
    n = values.shape[-1]
    if count <= 0 or n == 0:
        return np.zeros(values.shape[:-1])
    if count < n:
        values = np.partition(values, n - count, axis=-1)[..., n - count :]
    return np.asarray(sum_upper(values.sum(axis=-1), min(count, n) + 1))
