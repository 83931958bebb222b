"""Shares of certain, open and unproved predictions, by how many missing values may differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import Indices


def status_shares(at_least: ArrayLike, at_most: ArrayLike, n_missing: int) -> tuple[Indices, dict[str, Array]]:
    """Return the numbers of missing values at which a share changes, and the three shares from each of them on.

    A prediction whose class needs `at_least` values to change (proved) is certain if fewer may differ; one for which a
    search found `at_most` that change it is open from there on; between the two it is unproved.

    Examples
    --------
    >>> numbers, shares = status_shares([3, np.inf], [5, np.inf], 8)
    >>> numbers.tolist(), shares["certain"].tolist(), shares["open"].tolist()
    ([0, 3, 5, 8], [1.0, 0.5, 0.5, 0.5], [0.0, 0.0, 0.5, 0.5])
    """
    lowest, highest = np.asarray(at_least, dtype=float), np.asarray(at_most, dtype=float)
    changes = np.concatenate([lowest, highest])
    numbers = np.unique(np.concatenate([[0, n_missing], changes[changes <= n_missing]])).astype(np.intp)
    certain = (lowest[None] > numbers[:, None]).mean(axis=1)
    is_open = (highest[None] <= numbers[:, None]).mean(axis=1)
    return numbers, {"certain": certain, "open": is_open, "unproved": 1.0 - certain - is_open}
