"""Which places rows can take when they are ranked by score, over all completions of a training table.

A completion has one model, which gives all rows their scores. So the difference of two scores is one linear form of its
weights, ``(x_a - x_b).w''``, and its bounds are much narrower than the difference of two bounds (lem-ordered-rows).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.answers.differences import bounds_of_differences, most_pairs
from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.training import Training
from ipub.training.training import ExtendedRows

IN, OUT, OPEN = "in", "out", "open"


class Ranks(NamedTuple):
    """The places of rows, from 1: the greatest score is first."""

    rank: Indices
    """Of the scores of the model that predicts; of equal ones the row that comes first is before the other."""
    best: Indices
    """No completion gives the row a place before this: proved."""
    worst: Indices
    """Nor one after this. Equal scores may be in either order."""
    low: Array
    high: Array
    """Bounds of the scores."""
    ordered: tuple[Indices, Indices]
    """Pairs that the bounds of their scores leave open and the bounds of their difference do not: the first row has the
    greater score under every completion."""

    def states(self, k: int) -> NDArray[np.str_]:
        """Return whether each row is among the first k for every completion, for none, or neither is proved."""
        return np.where(self.worst <= k, IN, np.where(self.best > k, OUT, OPEN))

    def is_above(self) -> NDArray[np.bool_]:
        """Return (m, m): for which pairs the first row has the greater score under every completion; proved."""
        found = self.low[:, None] > self.high[None, :]
        found[self.ordered] = True
        return np.asarray(found)


def possible_ranks(
    training: Training, rows: IntervalMatrix, scores: Array, bounds: Array, k: int, model: int = 0, side: float = 1.0
) -> Ranks:
    """Bound the place of each row, most narrowly near the cut after the first k.

    Parameters
    ----------
    training : Training
    rows : IntervalMatrix
    scores : array of shape (m,)
        Of the model that predicts, by which rows are ranked.
    bounds : array of shape (m, 2)
        Bounds of these scores.
    k : int
    model : int
        Which of the models gives the scores.
    side : float
        -1 if they are the negative of its scores.
    """
    is_proved = np.isfinite(bounds).all(axis=1)
    low, high = np.where(is_proved, bounds[:, 0], -np.inf), np.where(is_proved, bounds[:, 1], np.inf)
    m = len(scores)
    rank = np.empty(m, dtype=np.intp)
    rank[np.argsort(-scores, kind="stable")] = np.arange(1, m + 1)
    n_above = m - np.searchsorted(np.sort(low), high, side="right")
    n_below = np.searchsorted(np.sort(high), low, side="left")
    is_open = (n_above < k) & (m - n_below > k)
    ordered = _NO_PAIRS
    if is_open.any():
        pairs = _pairs(rank, is_open, low, high, k, most_pairs(training.certificates[model].terms_per_row))
        ordered = _ordered(training, training.extended(rows), pairs, model, side)
    np.add.at(n_below, ordered[0], 1)
    np.add.at(n_above, ordered[1], 1)
    return Ranks(rank, n_above + 1, m - n_below, low, high, ordered)


@dataclass(frozen=True, eq=False, repr=False)
class TopRows:
    """Who is among the first k of some rows, whatever the missing values of the training table are."""

    k: int
    rows: Any
    """A frame with a line for each row, the first place first: ``row``, its ``probability``, ``score`` or
    ``prediction``, ``rank``, ``best_rank`` and ``worst_rank`` (certified), and ``state``: "in", "out" or "open"."""
    above: NDArray[np.bool_]
    """Shape (m, m): for which pairs of rows, by position, the first has the greater score for every filling; proved."""
    states: NDArray[np.str_]
    """Shape (m,): the state of each row, by position."""
    promise: str
    """What the certified ranks promise, in a sentence or two."""
    how_often: str
    """The same in a few words."""

    def __repr__(self) -> str:
        n_in, n_out, n_open = (int(np.count_nonzero(self.states == state)) for state in (IN, OUT, OPEN))
        return (
            f"The first {self.k} of {len(self.states)} rows: {n_in} in and {n_out} out {self.how_often}, "
            f"{n_open} open; .rows has each of them"
        )


_NO_PAIRS: tuple[Indices, Indices] = (np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))


def _pairs(
    rank: Indices, is_open: NDArray[np.bool_], low: Array, high: Array, k: int, most: int
) -> tuple[Indices, Indices]:
    """Return pairs that the bounds of their scores do not order, the row that is ranked higher first.

    Those of open rows come first, of these those across the cut, of these those nearest to it: they decide who is among
    the first k.
    """
    distance = np.abs(rank - (k + 0.5))
    near = np.lexsort((distance, ~is_open))[: 2 * int(np.sqrt(most)) + 1]
    near = near[np.argsort(rank[near])]
    first, second = (near[each] for each in np.triu_indices(len(near), 1))
    overlaps = (low[first] <= high[second]) & np.isfinite(low[first]) & np.isfinite(high[second])
    first, second = first[overlaps], second[overlaps]
    of_open, crosses = is_open[first] | is_open[second], (rank[first] <= k) & (rank[second] > k)
    order = np.lexsort((np.maximum(distance[first], distance[second]), ~crosses, ~of_open))[:most]
    return first[order], second[order]


def _ordered(
    training: Training, rows: ExtendedRows, pairs: tuple[Indices, Indices], model: int, side: float
) -> tuple[Indices, Indices]:
    """Return the pairs whose first row has the greater score under every completion (lem-ordered-rows)."""
    if not len(pairs[0]):
        return _NO_PAIRS
    certificate = training.certificates[model]
    chosen, bounds = bounds_of_differences(
        certificate.score_bounds, training.coef_bounds[model], rows, pairs, most_pairs(certificate.terms_per_row)
    )
    first, second = (each[chosen] for each in pairs)
    is_certain = bounds[:, 0] > 0.0 if side > 0.0 else bounds[:, 1] < 0.0
    return first[is_certain], second[is_certain]
