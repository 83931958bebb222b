"""The l1 penalty in the slope theorem: which weights have the same sign, or are zero, in every completion's model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.slopes.bounds import SlopeBounds
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import EPS, Array, down, sum_error, sum_upper, up
from ipub.tables.interval_matrix import Indices

NARROWEST = 1e-6
"""Weights nearer to zero are taken to be this far when a line is laid through the jump of the sign: it protects from
slopes that overflow. 1e-12 gave the same bounds."""


class L1Line(NamedTuple):
    """A line through the jump of the sign: ``kappa s''_j = middle_j + slope_j v_j ± spread_j`` (sec-lines)."""

    slope: Array
    middle: Array
    spread: Array


@dataclass(frozen=True)
class L1Signs:
    """Bounds of the subgradient ``s''_j`` of ``|w''_j|`` over all completions, and what else is known of w''."""

    lower: Array
    upper: Array
    largest: Array
    """Shape (n_features,): bounds of ``|w''_j|``."""
    zero: NDArray[np.bool_]
    """Shape (n_features,): weights that are zero in w' and in every completion's model."""

    @classmethod
    def undecided(cls, w: Array) -> L1Signs:
        """Know nothing yet."""
        one = np.ones_like(w)
        return cls(-one, one, np.full_like(w, np.inf), np.zeros(len(w), dtype=bool))

    def within(self, w: Array, move_limits: Array) -> L1Signs:
        """Use that ``|w''_j - w'_j| <= move_limits_j``."""
        low, high = down(w - move_limits), up(w + move_limits)
        return replace(
            self,
            lower=np.where(low > 0.0, 1.0, self.lower),
            upper=np.where(high < 0.0, -1.0, self.upper),
            largest=np.fmin(self.largest, np.maximum(np.abs(low), np.abs(high))),
        )

    def line(self, penalty: ElasticNet, w: Array) -> L1Line:
        """Lay a line through the jump of each sign.

        The sign of a weight minus ``h w''`` stays between its bounds while ``h |w''|`` is at most their distance.
        """
        kappa = penalty.kappa_vector(len(w))
        width = np.maximum(self.upper - self.lower, 0.0)
        steepness = np.maximum(0.0, down(width / np.maximum(self.largest, NARROWEST)))
        active = (kappa > 0.0) & ~self.zero
        slope = np.where(active, kappa * steepness, 0.0)
        middle = np.where(active, kappa * (0.5 * (self.lower + self.upper)) + slope * w, 0.0)
        spread = np.where(active, 0.5 * kappa * width, 0.0)
        rounding = 8.0 * EPS * (np.abs(kappa) + np.abs(slope * w) + slope * np.where(active, self.largest, 0.0))
        return L1Line(slope, middle, up(spread + np.where(active, rounding, 0.0)))


class DecidedSigns(NamedTuple):
    """The signs and zero weights that lem-l1-signs decides."""

    signs: L1Signs
    move_limits: Array
    """Bounds of ``|v_j|``; infinite where the lemma says nothing."""


class _Isolated(NamedTuple):
    """The stationarity of one weight, all others eliminated: ``kappa s'' + theta w''`` lies in [lower, upper]."""

    lower: Array
    upper: Array
    theta: Array
    theta_error: Array


def decide_signs(signs: L1Signs, bounds: SlopeBounds, penalty: ElasticNet) -> DecidedSigns:
    """Eliminate all weights but one, each in turn, and read off its sign (lem-l1-signs)."""
    kappa = penalty.kappa_vector(len(bounds.w))
    columns = np.flatnonzero((kappa > 0.0) & ~signs.zero & (np.diag(bounds.inverse) > 0.0))
    limits = np.where(signs.zero, 0.0, np.inf)
    if len(columns) == 0:
        return DecidedSigns(signs, limits)
    alone = _isolate(signs, bounds, penalty, columns)
    w, kappa = bounds.w[columns], kappa[columns]
    lower, upper = alone.lower, alone.upper
    is_valid = alone.theta > alone.theta_error
    least, most = down(alone.theta - alone.theta_error), up(alone.theta + alone.theta_error)
    top = np.where(upper > kappa, up(up(upper - kappa) / least), np.minimum(up(up(upper + kappa) / most), 0.0))
    bottom = np.where(
        lower < -kappa, down(down(lower + kappa) / least), np.maximum(down(down(lower - kappa) / most), 0.0)
    )
    limits[columns] = np.where(is_valid, np.maximum(up(top - w), up(w - bottom)), np.inf)
    is_zero = is_valid & (w == 0.0) & (lower > -kappa) & (upper < kappa)
    limits[columns[is_zero]] = 0.0
    zero, signs_low, signs_high = signs.zero.copy(), signs.lower.copy(), signs.upper.copy()
    zero[columns] = is_zero
    # A NaN leaves the sign as it was.
    low_sign, high_sign = np.clip(down(lower / kappa), -1.0, 1.0), np.clip(up(upper / kappa), -1.0, 1.0)
    signs_low[columns] = np.where(is_valid, np.fmax(signs_low[columns], low_sign), signs_low[columns])
    signs_high[columns] = np.where(is_valid, np.fmin(signs_high[columns], high_sign), signs_high[columns])
    return DecidedSigns(replace(signs, lower=signs_low, upper=signs_high, zero=zero), limits)


def _isolate(signs: L1Signs, bounds: SlopeBounds, penalty: ElasticNet, columns: Indices) -> _Isolated:
    """Bound ``kappa s'' + theta w''`` of each of some weights (lem-l1-signs)."""
    w, d = bounds.w, len(bounds.w)
    slope, middle, spread = (part[columns] for part in signs.line(penalty, w))
    U = bounds.inverse[columns] / np.diag(bounds.inverse)[columns, None]
    rows = np.arange(len(columns))
    U[rows, columns] = 1.0
    low, high = bounds.forces(U)
    products = U @ bounds.curvature
    product_error = sum_error(np.abs(U) @ np.abs(bounds.curvature), d + 2)
    others = up(np.abs(products) + product_error)
    others[rows, columns] = 0.0
    rest = sum_upper(others @ bounds.move_limits, d + 1)
    # kappa s'' + theta w'': the own part of the penalty is taken out of forces and curvature again.
    theta = products[rows, columns] - slope
    theta_error = up(product_error[rows, columns] + 2.0 * EPS * (np.abs(products[rows, columns]) + slope))
    shift = theta * w[columns]
    size = np.abs(low) + np.abs(high) + np.abs(middle) + spread + np.abs(shift) + rest
    error = up(up(rest + up(theta_error * bounds.move_limits[columns])) + 8.0 * EPS * size)
    upper = up(-(low + spread) + middle + shift + error)
    lower = down(-(high - spread) + middle + shift - error)
    return _Isolated(lower, upper, theta, theta_error)
