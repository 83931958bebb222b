"""Losses: what one row pays for its score.

A loss ``l(y, t)`` is convex in the score ``t``. Each class has two sides. The *solver side* (`value`,
`derivative`, `curvature`, `conjugate`) is plain floating point. The *certificate side* (names ending in
``_upper`` or ``_range``) is rounded outward: its result bounds the exact value for the floats it was
given (``docs/theory.md``, section F). Classification labels are -1 and +1.

Everywhere ``a`` is a dual coordinate: ``conjugate(y, a)`` is ``l*(y, -a)``, and the Fenchel-Young
residual ``l(y, t) + l*(y, -a) + a t`` is non-negative, and zero where ``-a`` is a derivative at ``t``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlog1py, xlogy

from ipub.rounding import ELEMENTARY_ULPS, EPS, UNDERFLOW, Array, down, midpoint_and_radius, sigmoid, sigmoid_range, up

LEAST_LENGTH = 1e-100
"""Lengths on the axis of scores below it, and beyond its inverse, are refused (F3)."""

STEEPEST = 1e6
"""Steepest line laid through a jump: more would buy nothing and cost accuracy."""

SHORTEST_MOVE = 1e-3
"""Secants shorter than this are no flatter than the curve itself, and would cancel."""


NOTHING = 1e-14
"""A residual so small needs no closer look."""


class Loss(ABC):
    """A convex loss of the score, with its conjugate and its outward-rounded bounds."""

    name: ClassVar[str]
    task: ClassVar[Literal["classification", "regression"]]
    has_probability: ClassVar[bool] = False
    is_smooth: ClassVar[bool] = True
    """Whether there is a derivative everywhere, with bounded secant slopes."""
    twice_differentiable: ClassVar[bool] = False
    """Whether the derivative has a derivative everywhere."""

    @abstractmethod
    def value(self, y: Array, t: Array) -> Array:
        """Return l(y, t)."""

    @abstractmethod
    def derivative(self, y: Array, t: Array) -> Array:
        """Return dl/dt, or one subgradient at a kink."""

    @abstractmethod
    def curvature(self, y: Array, t: Array) -> Array:
        """Return the second derivative in t (0 at a kink)."""

    @abstractmethod
    def conjugate(self, y: Array, a: Array) -> Array:
        """Return l*(y, -a), infinite outside its domain."""

    @abstractmethod
    def value_upper(self, y: Array, t: Array) -> Array:
        """Bound l(y, t) from above."""

    @abstractmethod
    def conjugate_upper(self, y: Array, a: Array) -> Array:
        """Bound l*(y, -a) from above, for `a` in its domain."""

    @abstractmethod
    def residual_upper(self, y: Array, t: Array, a: Array) -> Array:
        """Bound the Fenchel-Young residual l(y, t) + l*(y, -a) + a t from above."""

    def residual_upper_between(self, y: Array, lower: Array, upper: Array, a: Array) -> Array:
        """Bound the residual for every score in [lower, upper]: it is convex in the score."""
        return np.maximum(self.residual_upper(y, lower, a), self.residual_upper(y, upper, a))

    @abstractmethod
    def derivative_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Bound every (sub)derivative at every score in [lower, upper]."""

    def derivative_near(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Return c and e such that every derivative at a score in [lower, upper], a short way, is within e of c."""
        return midpoint_and_radius(*self.derivative_range(y, lower, upper))

    def curvature_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:  # noqa: ARG002 (no claim)
        """Bound the slope of every secant of the derivative between two scores in [lower, upper]."""
        return np.zeros(lower.shape), np.full(upper.shape, np.inf)

    def secant_range(self, y: Array, lower: Array, upper: Array, move: Array) -> tuple[Array, Array]:
        """Bound the slope of every secant of the derivative from a score in [lower, upper] over at most `move`.

        A loss whose derivative is constant somewhere must bound all secants between scores that near, as this does:
        the proof of Theorem 4 uses it to tell that an intercept is unique.
        """
        return self.curvature_range(y, down(lower - move), up(upper + move))

    def jump_line(self, y: Array, score: Array, lower: Array, upper: Array) -> tuple[Array, Array, Array]:
        """Return c, h >= 0 and e such that every derivative at t in [lower, upper] is ``c + h (t - score) ± e``.

        For the scores at which a derivative jumps and `curvature_range` is infinite.
        """
        raise NotImplementedError(f"The derivative of {self.name} has no jump.")

    def flip_upper(self, lower: Array, upper: Array) -> Array:
        """Bound ``psi(t; -1) - psi(t; 1)``, never negative, for (sub)derivatives psi at scores in [lower, upper]."""
        one = np.ones_like(lower)
        return up(self.derivative_range(-one, lower, upper)[1] - self.derivative_range(one, lower, upper)[0])

    def link(self, t: Array) -> Array:
        """Return the prediction g(t) that a score stands for: itself, or a class as its sign, 0 meaning unknown."""
        return t if self.task == "regression" else np.sign(t)

    def link_range(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Bound g over scores in [lower, upper]."""
        if self.task == "regression":
            return lower, upper
        return np.where(lower > 0.0, 1.0, -1.0), np.where(upper < 0.0, -1.0, 1.0)

    def smoothed(self, width: float) -> Loss:  # noqa: ARG002 (a smooth loss needs no width)
        """Return a differentiable loss whose negated derivative is dual feasible for this one.

        Its Fenchel-Young residual for this loss is at most ``width / 4``. A smooth loss returns itself.
        """
        return self


@dataclass(frozen=True)
class Squared(Loss):
    """Squared loss ``(y - t)^2`` of regression; link: identity."""

    name = "squared_error"
    task = "regression"
    twice_differentiable = True

    def value(self, y: Array, t: Array) -> Array:
        return (y - t) ** 2

    def derivative(self, y: Array, t: Array) -> Array:
        return 2.0 * (t - y)

    def curvature(self, y: Array, t: Array) -> Array:
        return np.full(np.broadcast(y, t).shape, 2.0)

    def conjugate(self, y: Array, a: Array) -> Array:
        return a * (a - 4.0 * y) / 4.0

    def value_upper(self, y: Array, t: Array) -> Array:
        return up(up(np.abs(y - t)) ** 2)

    def conjugate_upper(self, y: Array, a: Array) -> Array:
        factor = a - 4.0 * y
        return up(up(np.maximum(a * down(factor), a * up(factor))) / 4.0)

    def residual_upper(self, y: Array, t: Array, a: Array) -> Array:
        # The residual is a perfect square, (t - y + a/2)^2: no cancellation of large terms.
        error = t - y
        highest = up(up(error) + up(a / 2.0))
        lowest = down(down(error) + down(a / 2.0))
        return up(np.maximum(np.abs(highest), np.abs(lowest)) ** 2)

    def derivative_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        return 2.0 * down(lower - y), 2.0 * up(upper - y)

    def curvature_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:  # noqa: ARG002 (constant)
        return np.full_like(lower, 2.0), np.full_like(upper, 2.0)


@dataclass(frozen=True)
class Hinge(Loss):
    """Hinge loss ``max(0, 1 - y t)`` of the support vector machine; link: sign, 0 meaning unknown."""

    name = "hinge"
    task = "classification"
    is_smooth = False

    def value(self, y: Array, t: Array) -> Array:
        return np.maximum(0.0, 1.0 - y * t)

    def derivative(self, y: Array, t: Array) -> Array:
        return np.where(y * t < 1.0, -y, 0.0)

    def curvature(self, y: Array, t: Array) -> Array:
        return np.zeros(np.broadcast(y, t).shape)

    def conjugate(self, y: Array, a: Array) -> Array:
        b = a * y
        return np.where((b >= 0.0) & (b <= 1.0), -b, np.inf)

    def value_upper(self, y: Array, t: Array) -> Array:
        return np.maximum(0.0, up(1.0 - y * t))

    def conjugate_upper(self, y: Array, a: Array) -> Array:
        return self.conjugate(y, a)

    def residual_upper(self, y: Array, t: Array, a: Array) -> Array:
        # With b = a y and z = 1 - y t the residual is max(z (1 - b), -b z).
        b, z = a * y, 1.0 - y * t
        above = up(up(z) * up(1.0 - b))
        below = up(-b * down(z))
        return np.where(np.isfinite(self.conjugate(y, a)), np.maximum(0.0, np.maximum(above, below)), np.inf)

    def derivative_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        # Only a score strictly beyond the kink is decided; a NaN is not.
        positive = y > 0.0
        lowest = np.where(positive, np.where(lower > 1.0, 0.0, -1.0), np.where(lower > -1.0, 1.0, 0.0))
        highest = np.where(positive, np.where(upper < 1.0, -1.0, 0.0), np.where(upper < -1.0, 0.0, 1.0))
        return lowest, highest

    def curvature_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        lowest, highest = self.derivative_range(y, lower, upper)
        return np.zeros(lower.shape), np.where(lowest == highest, 0.0, np.inf)

    def jump_line(self, y: Array, score: Array, lower: Array, upper: Array) -> tuple[Array, Array, Array]:
        # The derivative minus h (t - y) stays within the jump while h (t - y) is no larger than the jump: 1.
        farthest = np.maximum(up(upper - y), up(y - lower))
        h = np.minimum(down(1.0 / np.maximum(farthest, 1.0 / STEEPEST)), STEEPEST)
        h = np.maximum(0.0, np.nan_to_num(h, nan=0.0))
        shift = h * (score - y)
        c = shift - 0.5 * y
        # Rounding of shift and c (F1, three operations).
        return c, h, up(0.5 + 4.0 * EPS * (np.abs(shift) + np.abs(c) + h * np.abs(score)))

    def smoothed(self, width: float) -> Loss:
        return SmoothedHinge(width)


class _Clipped(Loss):
    """A loss whose derivative is a line cut off at both ends: ``clip((t - y) / width, bottom, top)``.

    With ``d = t - y`` it is ``max p d - width p^2 / 2`` over slopes p between the ends, which depend on the label
    and hold 0 between them; so ``l*(y, -a) = a (width a / 2 - y)`` for -a between them, and 0 at a = 0.
    """

    @property
    @abstractmethod
    def _width(self) -> float:
        """How far the score goes while the derivative rises by one."""

    @abstractmethod
    def _ends(self, y: Array) -> tuple[Array, Array]:
        """Return bottom and top: infinite, or floats whose products with the width are exact."""

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


@dataclass(frozen=True)
class SquaredHinge(_Clipped):
    """Squared hinge loss ``max(0, 1 - y t)^2``; link: sign, 0 meaning unknown."""

    name = "squared_hinge"
    task = "classification"
    _width = 0.5

    def _ends(self, y: Array) -> tuple[Array, Array]:
        return np.where(y > 0.0, -np.inf, 0.0), np.where(y > 0.0, 0.0, np.inf)

    def flip_upper(self, lower: Array, upper: Array) -> Array:
        # 2 max(1 + t, 0) + 2 max(1 - t, 0) is convex: greatest at an end.
        at_lower, at_upper = super().flip_upper(lower, lower), super().flip_upper(upper, upper)
        return np.maximum(at_lower, at_upper)


@dataclass(frozen=True)
class SmoothedHinge(_Clipped):
    """The hinge with its kink rounded over `width`; link: sign, 0 meaning unknown.

    ``z^2 / (2 width)`` for z = 1 - y t between 0 and `width`, 0 below and ``z - width / 2`` above. Its negated
    derivative ``y clip(z / width, 0, 1)`` lies in the domain of the hinge's conjugate: the solver's way to the hinge.
    """

    width: float = 0.5

    name = "smoothed_hinge"
    task = "classification"

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", _length(self.width, "width of the smoothed hinge"))

    @property
    def _width(self) -> float:
        return self.width

    def _ends(self, y: Array) -> tuple[Array, Array]:
        return np.where(y > 0.0, -1.0, 0.0), np.where(y > 0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Huber(_Clipped):
    """Huber's loss of regression; link: identity.

    With ``d = t - y``: ``d^2 / 2`` for abs(d) up to `delta`, ``delta (abs(d) - delta / 2)`` beyond.
    """

    delta: float = 1.0

    name = "huber"
    task = "regression"
    _width = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", _length(self.delta, "delta of Huber's loss"))

    def _ends(self, y: Array) -> tuple[Array, Array]:
        return np.full(np.shape(y), -self.delta), np.full(np.shape(y), self.delta)


def _length(value: float, what: str) -> float:
    """Return a length on the axis of scores as a Python float, if neither it nor a weight over it can underflow."""
    value = float(value)
    if not (LEAST_LENGTH <= value <= 1.0 / LEAST_LENGTH):
        raise ValueError(f"The {what} is {value:g}; it must be between {LEAST_LENGTH:g} and {1.0 / LEAST_LENGTH:g}.")
    return value


@dataclass(frozen=True)
class Logistic(Loss):
    """Logistic loss ``log(1 + exp(-y t))``; link: sigmoid, the probability of +1."""

    name = "log_loss"
    task = "classification"
    has_probability = True
    twice_differentiable = True

    def value(self, y: Array, t: Array) -> Array:
        m = y * t
        return np.maximum(-m, 0.0) + np.log1p(np.exp(-np.abs(m)))

    def derivative(self, y: Array, t: Array) -> Array:
        return -y * sigmoid(-y * t)

    def curvature(self, y: Array, t: Array) -> Array:
        s = sigmoid(-np.abs(y * t))
        return s * (1.0 - s)

    def conjugate(self, y: Array, a: Array) -> Array:
        b = a * y
        inside = (b >= 0.0) & (b <= 1.0)
        b = np.clip(b, 0.0, 1.0)
        return np.where(inside, xlogy(b, b) + xlog1py(1.0 - b, -b), np.inf)

    def value_upper(self, y: Array, t: Array) -> Array:
        # exp, log1p (condition at most 1) and an addition of non-negative terms (F4)
        value = self.value(y, t)
        return up(up(value * (1.0 + (2 * ELEMENTARY_ULPS + 2) * EPS)) + UNDERFLOW)

    def conjugate_upper(self, y: Array, a: Array) -> Array:
        # Two non-positive terms, each a logarithm and a product with at most one rounded factor (F4).
        value = self.conjugate(y, a)
        return up(up(value * (1.0 - (ELEMENTARY_ULPS + 3) * EPS)) + UNDERFLOW)

    def residual_upper(self, y: Array, t: Array, a: Array) -> Array:
        terms = up(self.value_upper(y, t) + self.conjugate_upper(y, a))
        return np.maximum(0.0, up(terms + up(a * t)))

    def residual_upper_between(self, y: Array, lower: Array, upper: Array, a: Array) -> Array:
        # It is the Kullback-Leibler divergence of b = a y from p = sigma(-y t), at most (b - p)^2 / (p (1 - p)). A
        # dual coordinate that belongs to the score leaves next to nothing of it, without a logarithm.
        if len(y) == 0:
            return np.zeros(0)
        b, slack = a * y, (ELEMENTARY_ULPS + 3) * EPS
        p = sigmoid(-y * lower)
        # One bound for all rows, if it serves; a NaN fails every comparison.
        wrong = up(up(up(float(np.abs(b - p).max())) + slack) + 0.25 * up(float((upper - lower).max()))) + UNDERFLOW
        lowest, highest = np.minimum(p, b).min(), np.maximum(p, b).max()
        least, rest = down(lowest - wrong), down(down(1.0 - highest) - wrong)
        if lowest >= 0.0 and highest <= 1.0 and least > 0.0 and rest > 0.0:
            most = up(up(wrong * wrong) / down(least * rest)) * (1.0 + 8.0 * EPS)
            if most <= NOTHING:
                return np.full(len(y), most)
        off = up(up(up(np.abs(b - p) + slack * p) + 0.25 * up(upper - lower)) + UNDERFLOW)
        p_least, p_rest = down(p - off), down(down(1.0 - p) - off)
        with np.errstate(divide="ignore"):
            found = up(up(off * off) / down(p_least * p_rest)) * (1.0 + 8.0 * EPS)
        known = (p_least > 0.0) & (p_rest > 0.0) & (found <= NOTHING) & (b >= 0.0) & (b <= 1.0)
        others = np.flatnonzero(~known)
        if len(others):
            found[others] = super().residual_upper_between(y[others], lower[others], upper[others], a[others])
        return found

    def derivative_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        positive = y > 0.0
        first, last = -y * lower, -y * upper
        low_at_lower, high_at_lower = sigmoid_range(first, first)
        low_at_upper, high_at_upper = (low_at_lower, high_at_lower) if upper is lower else sigmoid_range(last, last)
        return (
            np.where(positive, -high_at_lower, low_at_lower),
            np.where(positive, -low_at_upper, high_at_upper),
        )

    def derivative_near(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        # The slope of the sigmoid is at most 1/4.
        p, slack = sigmoid(-y * lower), (ELEMENTARY_ULPS + 3) * EPS
        off = up(up(slack * p + 0.25 * up(upper - lower)) * (1.0 + 2.0 * EPS) + UNDERFLOW)
        return -y * p, np.where(np.isnan(off), 1.0, np.minimum(off, 1.0))

    def curvature_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:  # noqa: ARG002 (even)
        # sigma(t) sigma(-t) is even and falls with |t|; a NaN gives the whole range
        farthest = np.maximum(np.abs(lower), np.abs(upper))
        nearest = np.where((lower > 0.0) | (upper < 0.0), np.minimum(np.abs(lower), np.abs(upper)), 0.0)
        slack = (2 * (ELEMENTARY_ULPS + 3) + 1) * EPS
        least = down(down(sigmoid(farthest) * sigmoid(-farthest) * (1.0 - slack)) - UNDERFLOW)
        most = up(up(sigmoid(nearest) * sigmoid(-nearest) * (1.0 + slack)) + UNDERFLOW)
        return np.nan_to_num(np.maximum(0.0, least), nan=0.0), np.minimum(0.25, np.nan_to_num(most, nan=0.25))

    def secant_range(self, y: Array, lower: Array, upper: Array, move: Array) -> tuple[Array, Array]:
        # The curvature is even and falls with |t|. The flattest secant starts at the farthest score and goes out,
        # the steepest starts at the nearest and goes in (F4).
        slack = (ELEMENTARY_ULPS + 3) * EPS
        far = np.maximum(np.abs(lower), np.abs(upper))
        near = np.where((lower > 0.0) | (upper < 0.0), np.minimum(np.abs(lower), np.abs(upper)), 0.0)
        outer, inner = up(far + move), down(near - move)
        at_far, at_outer, at_near, at_inner = (sigmoid(-t) for t in (far, outer, near, inner))
        # Each sigmoid is off by `slack` times itself, and by what underflowed; a difference then has one rounding more.
        fall = down(at_far - at_outer) - up(slack * (at_far + at_outer) + 2.0 * UNDERFLOW)
        rise = up(at_inner - at_near) + up(slack * (at_inner + at_near) + 2.0 * UNDERFLOW)
        with np.errstate(divide="ignore"):
            least = down(down(fall) / up(outer - far))
            most = np.where(inner >= 0.0, up(up(rise) / down(near - inner)), 0.25)
        # A short way would cancel, and a NaN says nothing: there the curvatures at its ends serve.
        other = np.flatnonzero(~((move >= SHORTEST_MOVE) & (least >= 0.0) & (most <= 0.25)))
        if len(other):
            some = (part[other] for part in (y, lower, upper, move))
            flattest, steepest = super().secant_range(*some)
            least[other], most[other] = np.fmax(least[other], flattest), np.fmin(most[other], steepest)
        return least, most

    def flip_upper(self, lower: Array, upper: Array) -> Array:  # noqa: ARG002 (constant)
        return np.ones_like(lower)

    def link(self, t: Array) -> Array:
        return np.asarray(expit(t))

    def link_range(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        return sigmoid_range(lower, upper)


LOSSES: dict[str, Loss] = {
    loss.name: loss for loss in (Squared(), Hinge(), Logistic(), SquaredHinge(), SmoothedHinge(), Huber())
}
