"""How many predictions are certain once missing values are known, whatever they are (thm-certain-count)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ipub.answers.known_values import KnownValues, fast_certificate
from ipub.answers.open_rows import Predictions, Which
from ipub.numeric.parallel import single_threaded_blas
from ipub.numeric.rounding import EPS, Array, down, overflow_means_unbounded, sum_upper, up
from ipub.tables.interval_matrix import Indices

TOGETHER = 64
"""Open rows that are compared in pairs: their number against time."""


@dataclass(frozen=True, eq=False)
class CertainCounts:
    """How many predictions are certain once values are known, whatever they are (thm-certain-count)."""

    predictions: Predictions
    open_rows: Indices
    """Rows that may be open."""
    half: Array
    """Shape (n_open, n_missing): how far each value can move the score from one place, in either direction."""
    apart: Array
    """Shape (n_open, n_open): how far apart scores are, at least, whatever the filling; 0 of other groups of rows."""
    group: Indices
    """Shape (n_open,): rows of different groups are not compared."""
    order: Indices
    """Shape (n_open,): the place of each by its score."""
    stays: NDArray[np.bool_]
    """Shape (n_open,): rows that may be open whatever is known."""

    @classmethod
    def of(cls, predictions: Predictions) -> CertainCounts:
        """Bound the moves of open rows, and the differences of their scores in pairs."""
        training, missing = predictions.training, predictions.missing
        open_rows = np.flatnonzero(~predictions.certain)
        m, n = len(open_rows), len(missing)
        half, apart, group = np.full((m, n), np.inf), np.zeros((m, m)), np.zeros(m, dtype=np.intp)
        scores = predictions.scores if predictions.scores.ndim == 1 else predictions.scores.max(axis=1)
        order = np.argsort(np.argsort(scores[open_rows], kind="stable"))
        known = None
        if training.around is None and len(training.models) == 1:
            known = KnownValues.of(missing, training.models[0], training.certificates[0])
        stays = predictions.have_own_values[open_rows] | _varies_otherwise(predictions, known)
        if known is not None and m:
            rows = predictions.centers[open_rows]
            for part in known.in_parts(rows):
                half[part.rows] = part.range_upper
            # From the middle of its interval a number moves half as far as from one end to the other.
            half[:, : missing.n_numbers] *= 0.5
            group = order % -(-m // TOGETHER)
            apart = _apart(predictions, rows, group)
        return cls(predictions, open_rows, half, apart, group, order, stays)

    def at_least(self, known: Which) -> int:
        """Return how many predictions are certain if these values are known, whatever they are: proved."""
        return len(self.predictions.certain) - self.open_at_most(known)

    def open_at_most(self, known: Which) -> int:
        """Bound how many rows can be open at once."""
        with overflow_means_unbounded():
            left = self.half[:, ~known]
            reach = np.where(left.any(axis=1), sum_upper(left.sum(axis=1), left.shape[1] + 2), 0.0)
        moves = np.flatnonzero((reach > 0.0) & ~self.stays)
        total = int(np.count_nonzero(self.stays))
        for number in np.unique(self.group[moves]):
            here = moves[self.group[moves] == number]
            here = here[np.argsort(self.order[here])]
            together = self.apart[np.ix_(here, here)] <= up(reach[here][:, None] + reach[here])
            # The first row of those that are open at once in this order is open with later ones alone.
            total += int(np.triu(together).sum(axis=1).max(initial=0))
        return total


def _varies_otherwise(predictions: Predictions, known: KnownValues | None) -> bool:
    """Whether more than missing values is uncertain, or one filling may have several models.

    It has one without an intercept, where the curvature of the loss is positive everywhere, or where the mean Hessians
    are proved to be definite, which `known` rests on (sec-known-values).
    """
    (problem, _), missing = predictions.training.models[0], predictions.missing
    other_cells = int(np.count_nonzero(missing.matrix.radii > 0.0)) > missing.n_numbers
    is_one = not problem.penalty.n_free or problem.loss.has_bounded_third_derivative or known is not None
    return bool(other_cells or problem.rows.uncertain_labels or not is_one)


def _apart(predictions: Predictions, rows: Array, group: Indices) -> Array:
    """Bound from below how far apart the scores of rows of one group are, whatever the filling."""
    training, apart = predictions.training, np.zeros((len(rows), len(rows)))
    certificate, size = fast_certificate(training.certificates[0]), np.abs(training.coef_bounds[0]).max(axis=1)
    for number in np.unique(group):
        here = np.flatnonzero(group == number)
        one, other = (here[side] for side in np.triu_indices(len(here), 1))
        difference = rows[one] - rows[other]
        with single_threaded_blas(rows.shape[1]), overflow_means_unbounded():
            low, high = certificate.score_bounds(difference).T
            # Each number of a difference is rounded once; the column of the intercept is 0 exactly.
            error = sum_upper(up(EPS * np.abs(difference[:, : len(size)])) @ size, len(size) + 2)
            distance = np.maximum(down(low - error), -up(high + error))
        distance = np.where(np.isfinite(distance), np.maximum(distance, 0.0), 0.0)
        apart[one, other] = apart[other, one] = distance
    return apart
