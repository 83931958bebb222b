"""The l1 penalty in the slope theorem: which weights have the same sign, or are zero, in every completion's model."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.slope.bounds import SlopeBounds
from ipub.penalties import ElasticNet
from ipub.rounding import EPS, Array, down, sum_error, sum_upper, up

NARROWEST = 1e-6
"""Weights closer to zero are taken to be this far, when a line is laid through the jump of the sign."""


@dataclass(frozen=True)
class L1Signs:
    """Bounds of the subgradient ``s''_j`` of ``|w''_j|`` over all completions, and what else is known of w''.

    Attributes
    ----------
    lower, upper : arrays of shape (n_features,)
    largest : array of shape (n_features,)
        Bounds of ``|w''_j|``.
    zero : array of shape (n_features,)
        Weights that are zero in w' and in every completion's model.
    """

    lower: Array
    upper: Array
    largest: Array
    zero: NDArray[np.bool_]

    @classmethod
    def undecided(cls, w: Array) -> L1Signs:
        """Know nothing yet."""
        one = np.ones_like(w)
        return cls(-one, one, np.full_like(w, np.inf), np.zeros(len(w), dtype=bool))

    def within(self, w: Array, farthest: Array) -> L1Signs:
        """Use that ``|w''_j - w'_j| <= farthest_j``."""
        low, high = down(w - farthest), up(w + farthest)
        return replace(
            self,
            lower=np.where(low > 0.0, 1.0, self.lower),
            upper=np.where(high < 0.0, -1.0, self.upper),
            largest=np.fmin(self.largest, np.maximum(np.abs(low), np.abs(high))),
        )

    def line(self, penalty: ElasticNet, w: Array) -> tuple[Array, Array, Array]:
        """Return slope, middle and spread with ``kappa s'' = middle + slope v ± spread``.

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
        return slope, middle, up(spread + np.where(active, rounding, 0.0))

    def decided_by(self, bounds: SlopeBounds, penalty: ElasticNet) -> tuple[L1Signs, Array]:
        """Eliminate all weights but one, each in turn, and read off its sign (Lemma 9).

        Returns the signs, and bounds of ``|v_j|``.
        """
        w, d = bounds.w, len(bounds.w)
        kappa = penalty.kappa_vector(d)
        some = np.flatnonzero((kappa > 0.0) & ~self.zero & (np.diag(bounds.inverse) > 0.0))
        farthest = np.where(self.zero, 0.0, np.inf)
        if len(some) == 0:
            return self, farthest
        slope, middle, spread = (part[some] for part in self.line(penalty, w))
        U = bounds.inverse[some] / np.diag(bounds.inverse)[some, None]
        rows = np.arange(len(some))
        U[rows, some] = 1.0
        low, high = bounds.forces(U)
        curved = U @ bounds.curvature
        doubt = sum_error(np.abs(U) @ np.abs(bounds.curvature), d + 2)
        others = up(np.abs(curved) + doubt)
        others[rows, some] = 0.0
        rest = sum_upper(others @ bounds.farthest, d + 1)
        # kappa s'' + theta w'' = I: the own part of the penalty is taken out of forces and curvature again.
        theta = curved[rows, some] - slope
        theta_doubt = up(doubt[rows, some] + 2.0 * EPS * (np.abs(curved[rows, some]) + slope))
        weight, kappas = w[some], kappa[some]
        shift = theta * weight
        size = np.abs(low) + np.abs(high) + np.abs(middle) + spread + np.abs(shift) + rest
        loose = up(up(rest + up(theta_doubt * bounds.farthest[some])) + 8.0 * EPS * size)
        upper = up(-(low + spread) + middle + shift + loose)
        lower = down(-(high - spread) + middle + shift - loose)
        certain = theta > theta_doubt
        least, most = down(theta - theta_doubt), up(theta + theta_doubt)
        top = np.where(upper > kappas, up(up(upper - kappas) / least), np.minimum(up(up(upper + kappas) / most), 0.0))
        bottom = np.where(
            lower < -kappas, down(down(lower + kappas) / least), np.maximum(down(down(lower - kappas) / most), 0.0)
        )
        farthest[some] = np.where(certain, np.maximum(up(top - weight), up(weight - bottom)), np.inf)
        is_zero = certain & (weight == 0.0) & (lower > -kappas) & (upper < kappas)
        farthest[some[is_zero]] = 0.0
        zero, signs_low, signs_high = self.zero.copy(), self.lower.copy(), self.upper.copy()
        zero[some] = is_zero
        # A NaN leaves the sign as it was.
        low_sign, high_sign = np.clip(down(lower / kappas), -1.0, 1.0), np.clip(up(upper / kappas), -1.0, 1.0)
        signs_low[some] = np.where(certain, np.fmax(signs_low[some], low_sign), signs_low[some])
        signs_high[some] = np.where(certain, np.fmin(signs_high[some], high_sign), signs_high[some])
        return replace(self, lower=signs_low, upper=signs_high, zero=zero), farthest
