"""Independent moves around a filled-in table: sums and norms that hold with high probability (Lemmas 21 and 22)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from ipub.certificates.around_filling.largest_sums import largest_sum_upper
from ipub.certificates.around_filling.metric import eigenvalues_upper
from ipub.certificates.around_filling.moves import BudgetMoves
from ipub.certificates.around_filling.units import MovableRows
from ipub.data.interval_matrix import Indices
from ipub.engine.ops import sum_by_index
from ipub.rounding import ELEMENTARY_ULPS, EPS, UNDERFLOW, Array, norm_upper, sum_upper, up

END_SHARE, PRODUCT_SHARE, FORCE_SHARE, HESSIAN_SHARE, REACH_SHARE = 0.36, 0.08, 0.06, 0.06, 0.08
"""Shares of delta: each of two ends of the first order, the first order of the Hessian's change, the gradient, the
Hessian, and everything that is claimed of the training rows. With two ends they sum to 1."""

ELLIPSOID_SHARE = 0.5
"""The share of the gradient and of the Hessian where the ellipsoid alone is claimed."""

EXPONENTS = np.geomspace(0.05, 60.0, 40)
"""Exponents of Lemma 21 that are tried, in units of Hoeffding's: any is valid."""

FEW_EXPONENTS = np.geomspace(0.25, 4.0, 7)
"""The same for training rows, of which there are many."""

NORM_EXPONENTS = 1.0 - np.geomspace(0.98, 0.01, 24)
"""``2 eta`` times the largest eigenvalue in Lemma 22: any number in (0, 1) is valid."""


class RowEvents(NamedTuple):
    """Probabilities with which the bounds of one row may fail, beside those of the gradient and the Hessian."""

    end: float
    """Of each of the two ends of the first order."""
    product: float
    """Of the norm of the first order of the Hessian's change."""
    exponents: Array
    """The exponents of Lemma 21 that are tried."""


@dataclass(frozen=True)
class RandomMoves:
    """Units move at random inside their intervals, independently of those in other rows (Theorem 10).

    Attributes
    ----------
    bias : float
        The mean of a number is at most this many half-widths of its interval from the filled-in value. Of a missing
        category nothing is known.
    delta : float
        Bounds fail with at most this probability.
    blocks : {"rows", "cells"}
        Whether units of one row may depend on each other.
    claim : {"row", "rows", "all"}
        Whether the bounds of each row by itself hold with that probability, those of `n_rows` rows at once, or those of
        all rows that there are (an ellipsoid).
    n_rows : int
        So many scores share the probability: those of one row, or for the claim "rows" of all rows of a call.

    Examples
    --------
    >>> RandomMoves(delta=0.01).events().end
    0.0036
    """

    bias: float = 0.1
    delta: float = 0.01
    blocks: Literal["rows", "cells"] = "rows"
    claim: Literal["row", "rows", "all"] = "row"
    n_rows: int = 1

    @property
    def delta_force(self) -> float:
        """The probability that the norm of the gradient fails."""
        return (ELLIPSOID_SHARE if self.claim == "all" else FORCE_SHARE) * self.delta

    @property
    def delta_hessian(self) -> float:
        """The probability that the Hessian fails."""
        return (ELLIPSOID_SHARE if self.claim == "all" else HESSIAN_SHARE) * self.delta

    def events(self, n_rows: int = 1) -> RowEvents:
        """Return what may fail for one of `n_rows` rows whose bounds are asked for at once."""
        delta = self.delta / (max(n_rows, self.n_rows) if self.claim == "rows" else self.n_rows)
        return RowEvents(END_SHARE * delta, PRODUCT_SHARE * delta, EXPONENTS)

    def training_events(self, n: int) -> RowEvents:
        """Return what may fail for one of n training rows and unit vectors: two ends and a norm of each."""
        delta = REACH_SHARE * self.delta / (3 * n)
        return RowEvents(delta, delta, FEW_EXPONENTS)

    def blocks_of(self, movable: MovableRows) -> Indices:
        """Return for each unit the block that is independent of the others."""
        return movable.unit_row if self.blocks == "rows" else np.arange(movable.n_units)

    def mean_shares(self, movable: MovableRows) -> Array:
        """Bound for each unit ``|E D_k|``: the mean of its move over its generator (1 for categories)."""
        size = np.abs(movable.option_amounts[:, 0])
        largest = movable.greatest(size)
        total = sum_by_index(movable.option_unit, size, movable.n_units)
        share = up(up(self.bias * up(0.5 * total)) / largest)
        return np.where(movable.is_number, np.minimum(share, 1.0), 1.0)

    def norm_upper(self, movable: MovableRows, Z: Array, error: Array, delta: float) -> Array:
        """Bound ``|sum_k D_k z_k|`` with probability ``1 - delta``, for each of several sets of vectors (Lemma 22)."""
        unit = movable.option_unit[movable.generators]
        block = self.blocks_of(movable)[unit]
        size = norm_upper(Z)
        size = np.maximum(size, 1e-9 * size.max(axis=1, keepdims=True, initial=0.0)) + UNDERFLOW
        starts = np.flatnonzero(np.diff(block, prepend=-1))
        totals = np.add.reduceat(size, starts, axis=1)[:, np.cumsum(np.diff(block, prepend=-1) != 0) - 1]
        forms = (Z * (totals / size)[..., None]).transpose(0, 2, 1) @ Z
        trace = sum_upper((totals * size).sum(axis=1), 2 * Z.shape[1] + 8)
        values = up(eigenvalues_upper(forms) + up((2 * Z.shape[1] + 16) * EPS * trace)[:, None])
        result = up(_subgaussian_norm(values, delta) + sum_upper(error.sum(axis=1), error.shape[1] + 1))
        means = self.mean_shares(movable)
        if means.any():
            certain = BudgetMoves((movable.n_units, movable.n_units))
            moved = Z * means[unit][:, None]
            slack = 4.0 * EPS * up(means[unit] * size)
            result = up(result + certain.norm_upper(movable, moved, slack, rounds=2))
        return np.asarray(result)

    def sum_upper(self, movable: MovableRows, upper: Array, lower: Array, mean: Array, events: RowEvents) -> Array:
        """Bound ``sum_b Y_b`` over independent blocks with probability ``1 - events.end``, row by row (Lemma 21).

        The units of a block add up to between ``-lower`` and `upper`, in the mean to at most `mean`.
        """
        block = self.blocks_of(movable)
        starts = np.flatnonzero(np.diff(block, prepend=-1))
        sums = []
        for values in (upper, lower, mean):
            longest = int(np.diff(np.append(starts, values.shape[1])).max(initial=1))
            sums.append(sum_upper(np.add.reduceat(values, starts, axis=1), longest + 1))
        return _chord_bound(sums[0], sums[1], sums[2], events.end, events.exponents)


def log_inverse_upper(delta: float) -> float:
    """Bound ``log(1 / delta)`` from above."""
    return float(up(-np.log(delta) * (1.0 + (ELEMENTARY_ULPS + 4) * EPS) + 8.0 * EPS))


def _chord_bound(upper: Array, lower: Array, mean: Array, delta: float, exponents: Array) -> Array:
    """Return t with ``P(sum_b Y_b > t) <= delta``, ``-lower <= Y_b <= upper``, ``E Y_b <= mean`` (Lemma 21)."""
    certain = largest_sum_upper(upper, upper.shape[1])
    width = up(upper + lower)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(width > 0.0, np.clip(up(up(mean + lower) / width * (1.0 + 4.0 * EPS)), 0.0, 1.0), 1.0)
        hoeffding = np.sqrt(8.0 * -np.log(delta) / np.maximum((width**2).sum(axis=1), UNDERFLOW))
    best = certain
    log_inverse = log_inverse_upper(delta)
    for factor in exponents:
        s = (factor * hoeffding)[:, None]
        z = s * width
        # M(s) = e^(s upper) (share + (1 - share) e^-z): no term is negative.
        inner = share + (1.0 - share) * np.exp(-z)
        logs = np.log(inner)
        rise = s * upper
        error = (upper.shape[1] + 32) * EPS * (rise + np.abs(logs) + z + 64.0).sum(axis=1)
        total = up((rise + logs).sum(axis=1) + error)
        best = np.fmin(best, up(up(total + log_inverse) / s[:, 0]))
    return best


def _subgaussian_norm(values: Array, delta: float) -> Array:
    """Return t with ``P(|z| > t) <= delta`` if ``E exp(y.z) <= exp(y.S y / 2)``, S with eigenvalues up to `values`."""
    largest = values.max(axis=1, initial=0.0)
    shares = np.minimum(values / np.maximum(largest, UNDERFLOW)[:, None], 1.0)
    log_inverse = log_inverse_upper(delta)
    best = np.full(len(values), np.inf)
    for y in NORM_EXPONENTS:
        # 2 eta l_j = y l_j / l_max
        logs = -np.log1p(-y * shares).sum(axis=1)
        bound = up((log_inverse + 0.5 * logs) * (1.0 + (values.shape[1] + 64) * EPS) / y)
        best = np.fmin(best, bound)
    return up(np.sqrt(up(2.0 * up(best * largest) * (1.0 + 8.0 * EPS)) + UNDERFLOW))
