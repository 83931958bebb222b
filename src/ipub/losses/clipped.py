"""Losses whose derivative is a line that is cut off at both ends (lem-clipped-lines)."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from ipub.losses.base import Loss
from ipub.numeric.rounding import Array, down, up


class ClippedLine(Loss):
    """A loss with the derivative ``clip((t - y) / width, bottom, top)``.

    With ``d = t - y`` it is ``max p d - width p^2 / 2`` over slopes p between the ends, which depend on the label and
    hold 0 between them; so ``l*(y, -a) = a (width a / 2 - y)`` for -a between them, and 0 at a = 0 (lem-clipped-lines).
    """

    @property
    @abstractmethod
    def _width(self) -> float:
        """The inverse of the line's slope."""

    @abstractmethod
    def _ends(self, y: Array) -> tuple[Array, Array]:
        """Return bottom and top, the least and the greatest derivative for these labels.

        Each is infinite, or a float whose product with the width is exact (fp-elementary).
        """

    def value(self, y: Array, t: Array) -> Array:
        slope = self.derivative(y, t)
        return slope * (t - y - 0.5 * self._width * slope)

    def derivative(self, y: Array, t: Array) -> Array:
        return np.clip((t - y) / self._width, *self._ends(y))

    def curvature(self, y: Array, t: Array) -> Array:
        bottom, top = self._ends(y)
        d = t - y
        return np.where((d > self._width * bottom) & (d < self._width * top), 1.0 / self._width, 0.0)

    def conjugate(self, y: Array, a: Array) -> Array:
        return np.where(self._in_domain(y, a), a * (0.5 * self._width * a - y), np.inf)

    def _in_domain(self, y: Array, a: Array) -> NDArray[np.bool_]:
        bottom, top = self._ends(y)
        return (bottom <= -a) & (-a <= top)

    def value_upper(self, y: Array, t: Array) -> Array:
        # The conjugate is 0 at 0, so the value is a residual.
        return self.residual_upper(y, t, np.zeros_like(t))

    def conjugate_upper(self, y: Array, a: Array) -> Array:
        half = 0.5 * self._width * a
        lowest, highest = down(down(half) - y), up(up(half) - y)
        return np.where(self._in_domain(y, a), up(np.maximum(a * lowest, a * highest)), np.inf)

    def residual_upper(self, y: Array, t: Array, a: Array) -> Array:
        # With c = d clipped to the line it is (c + width a)^2 / (2 width) + (c / width + a) (d - c): no term is
        # negative. It is convex in d, which lies between the neighbours of its float.
        d = t - y
        highest = np.maximum(self._residual_upper(y, down(d), a), self._residual_upper(y, up(d), a))
        return np.where(self._in_domain(y, a), highest, np.inf)

    def _residual_upper(self, y: Array, d: Array, a: Array) -> Array:
        width, (bottom, top) = self._width, self._ends(y)
        c, shift = np.clip(d, width * bottom, width * top), width * a
        near = np.maximum(np.abs(up(c + up(shift))), np.abs(down(c + down(shift))))
        # Beyond the line c / width is an end, exactly.
        beyond = np.where(d == c, 0.0, up(up(np.abs(c / width + a)) * up(np.abs(d - c))))
        return up(up(up(near * near) / (2.0 * width)) + beyond)

    def derivative_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        # fmax and fmin pass over a NaN, which so becomes an end.
        bottom, top = self._ends(y)
        lowest, highest = down(down(lower - y) / self._width), up(up(upper - y) / self._width)
        return np.minimum(np.fmax(lowest, bottom), top), np.maximum(np.fmin(highest, top), bottom)

    def curvature_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        # Both comparisons with a NaN fail, which leaves the whole range.
        first, last = down(lower - y), up(upper - y)
        bottom, top = (self._width * end for end in self._ends(y))
        on_line = (bottom <= first) & (last <= top)
        beyond = (first <= last) & ((first >= top) | (last <= bottom))
        steepness = 1.0 / self._width
        return np.where(on_line, down(steepness), 0.0), np.where(beyond, 0.0, up(steepness))
