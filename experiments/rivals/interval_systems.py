"""Interval linear systems: where the solutions of ``A v = b`` lie for all A near the identity and all b in a box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.numeric.rounding import EPS, Array, dot_bounds, down, sum_error, sum_upper, up

SWEEPS = 30
"""Sweeps of interval Gauss-Seidel, at most."""
SETTLED = 1e-3
"""A sweep that shortens no side of the box by this fraction is the last."""
MARGIN = 4.0
"""Factor, above what is needed, by which a row of an approximate inverse is increased until it proves a bound."""

Ends = tuple[Array, Array]


@dataclass(frozen=True)
class IntervalSystem:
    """All systems ``A v = b`` with ``|A - I| <= spread`` and ``|b - center| <= radius``, in every entry.

    Parameters
    ----------
    spread : array of shape (d, d)
    center, radius : arrays of shape (d,)
    """

    spread: Array
    center: Array
    radius: Array

    @property
    def is_finite(self) -> bool:
        """Whether nothing overflowed."""
        return all(bool(np.isfinite(part).all()) for part in (self.spread, self.center, self.radius))

    @property
    def _least_diagonal(self) -> Array:
        return down(1.0 - np.diag(self.spread))

    def _ratio(self, slack: Array, least: Array, most: Array) -> Ends:
        """Bound ``(b_j ± slack_j) / a_j`` for a_j in [least, most], a positive interval."""
        low, high = down(down(self.center - self.radius) - slack), up(up(self.center + self.radius) + slack)
        return down(np.minimum(low / least, low / most)), up(np.maximum(high / least, high / most))

    def gauss_seidel(self, lower: Array, upper: Array) -> Ends:
        """Bound the solutions inside a box by one sweep, all coordinates at once; it does not cut with the box.

        Row j says ``a_jj v_j = b_j - sum_{k != j} a_jk v_k``. A row whose a_jj may be 0 gives no bound.
        """
        size = np.maximum(np.abs(lower), np.abs(upper))
        off_diagonal = self.spread - np.diag(np.diag(self.spread))
        slack = sum_upper(off_diagonal @ size, len(size) + 1)
        least = self._least_diagonal
        solved = least > 0.0
        divisor = np.where(solved, least, 1.0)
        low, high = self._ratio(slack, divisor, up(1.0 + np.diag(self.spread)))
        return np.where(solved, low, -np.inf), np.where(solved, high, np.inf)

    def cut(self, lower: Array, upper: Array) -> Ends:
        """Cut a box, which holds solutions, by sweeps until it stops shrinking."""
        for _ in range(SWEEPS):
            before = upper - lower
            lower, upper = both((lower, upper), self.gauss_seidel(lower, upper))
            if not (upper - lower < (1.0 - SETTLED) * before).any():
                break
        return lower, upper

    def hansen_bliek_rohn(self) -> Ends | None:
        """Return the Hansen-Bliek-Rohn enclosure of all solutions, or None where it does not apply.

        It applies if ``M = I - spread`` is an M-matrix, and is then the hull of the solutions. Any ``y >= 0`` with
        ``(y M)_k >= 0`` for ``k != i`` proves coordinate i; rows of an approximate inverse are used (lem-hull).
        """
        d, least = len(self.center), self._least_diagonal
        if not (self.is_finite and (least > 0.0).all()):
            return None
        comparison = np.where(np.eye(d, dtype=bool), least, -self.spread)
        try:
            rows = np.linalg.inv(comparison)
        except np.linalg.LinAlgError:
            return None
        if not (np.isfinite(rows).all() and (np.diag(rows) > 0.0).all()):
            return None
        rows = np.maximum(rows, 0.0)
        increase = rows.sum(axis=0)
        gain, missing = dot_bounds(increase[None], comparison)[0], dot_bounds(rows, comparison)[0]
        if not (gain > 0.0).all():
            return None
        off_diagonal = ~np.eye(d, dtype=bool)
        factor = MARGIN * np.max(np.where(off_diagonal, np.maximum(-missing, 0.0) / gain, 0.0), axis=1) + d * EPS
        rows = rows + factor[:, None] * increase
        product, own = dot_bounds(rows, comparison)[0], np.diag(rows)
        if not ((product >= 0.0) | ~off_diagonal).all() or not (np.diag(product) > 0.0).all():
            return None
        size = up(np.abs(self.center) + self.radius)
        slack = up(sum_upper((rows - np.diag(own)) @ size, d + 1) / own)
        divisor = down(np.diag(product) / own)
        if not (divisor > 0.0).all():
            return None
        excess = np.maximum(up(least - divisor), 0.0)
        return self._ratio(slack, divisor, up(up(1.0 + np.diag(self.spread)) + excess))


def both(first: Ends, second: Ends) -> Ends:
    """Intersect two boxes; an end that is NaN is ignored."""
    return np.fmax(first[0], second[0]), np.fmin(first[1], second[1])


def preconditioned(matrix: Array, matrix_radius: Array, vector: Array, radius: Array) -> IntervalSystem:
    """Return the systems ``C H v = C b``, with C the approximate inverse of the matrix (NaN if there is none).

    They are all those with ``|H - matrix| <= matrix_radius`` and ``|b - vector| <= radius``, in every entry.
    """
    d, identity = len(vector), np.eye(len(vector))
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        inverse = np.full_like(matrix, np.nan)
    size = np.abs(inverse)
    error = up(sum_error(identity + size @ np.abs(matrix), d + 3) + sum_upper(size @ matrix_radius, d + 1))
    spread = up(np.abs(identity - inverse @ matrix) + error)
    error = up(sum_error(size @ np.abs(vector), d + 1) + sum_upper(size @ radius, d + 1))
    return IntervalSystem(spread, inverse @ vector, error)
