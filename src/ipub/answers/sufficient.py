"""A small set of missing values with which, once they are known, predictions are certain whatever the values are."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real

import numpy as np

from ipub.answers.certain_counts import CertainCounts
from ipub.answers.measuring import greedy_order
from ipub.answers.open_rows import Predictions, Which
from ipub.errors import IpubError
from ipub.progress_bars import progress
from ipub.tables.interval_matrix import Indices

VALUES = ("any", "filled_in")

LEFT_OUT, LEFT_OUT_OF_FILLED = 400, 16
"""Parts of the set that are left out once, to see whether the others are enough: size against time. With values as
filled in each takes a certificate."""


def sufficient_values(predictions: Predictions, share: float, values: str, verbose: int = 0) -> Indices:
    """Return the numbers of missing values that a search finds to be enough, most useful first.

    First values in an order, as few of these as are enough; then those are left out that the others can do without.
    They may have any values (thm-certain-count), or are as filled in, as they always are around a budget: then the
    certificate is made again.

    Raises IpubError if not even all of them are enough.
    """
    if not (isinstance(share, Real) and not isinstance(share, bool) and 0.0 < float(share) <= 1.0):
        raise IpubError(f"share is {share!r}: give the share of predictions that are to be certain, up to 1.")
    if values not in VALUES:
        raise IpubError(f"values is {values!r}: use {' or '.join(map(repr, VALUES))}.")
    missing, m = predictions.missing, len(predictions.certain)
    needed = int(np.ceil(float(share) * m - 1e-9))
    if np.count_nonzero(predictions.certain) >= needed:
        return np.zeros(0, dtype=np.intp)
    if values == "filled_in" or predictions.training.around is not None:
        order = greedy_order(predictions.lacks(), np.arange(len(missing)), np.ones(len(missing)))
        count, most_left_out = predictions.certain_if_as_filled, LEFT_OUT_OF_FILLED
    else:
        counts = CertainCounts.of(predictions)
        half = np.where(np.isfinite(counts.half), counts.half, 0.0).sum(axis=0)
        order, count, most_left_out = np.argsort(-half, kind="stable"), counts.at_least, LEFT_OUT
    n_certain = count(np.ones(len(missing), dtype=bool))
    if n_certain < needed:
        raise IpubError(
            f"Even with all missing values of the training table known, only {n_certain} of {m} predictions are proved "
            "to be certain: rows that are predicted have missing values of their own, or something else is uncertain "
            f"as well. Leave such rows out, or ask for less: share={np.floor(100.0 * n_certain / m) / 100.0:g}."
        )
    with progress("Searching for few values", 1, bool(verbose)):
        return _few(count, order, needed, most_left_out)


def _few(count: Callable[[Which], int], order: Indices, needed: int, most_left_out: int) -> Indices:
    """Return the fewest of the first values that are enough, without parts that the others can do without."""

    def is_enough(which: Indices) -> bool:
        known = np.zeros(len(order), dtype=bool)
        known[which] = True
        return count(known) >= needed

    low, high = 0, len(order)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(order[:middle]) else (middle, high)
    kept = order[:high]
    for part in np.array_split(kept[::-1], min(most_left_out, high)):
        others = kept[~np.isin(kept, part)]
        kept = others if is_enough(others) else kept
    return kept
