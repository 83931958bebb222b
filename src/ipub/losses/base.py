"""What every loss is: a convex function of the score with its conjugate and its outward-rounded bounds.

Each loss has two sides. The *solver side* (`value`, `derivative`, `curvature`, `conjugate`) is plain floating
point. The *certificate side* (names ending in ``_upper`` or ``_range``, and `derivative_midpoint_and_radius` and
`derivative_line`) is rounded outward: its result bounds the exact value for the floats it was given
(sec-rounding).

Everywhere ``a`` is a dual coordinate: ``conjugate(y, a)`` is ``l*(y, -a)``, and the Fenchel-Young residual
``l(y, t) + l*(y, -a) + a t`` is non-negative, and zero where ``-a`` is a derivative at ``t``. Classification labels
are -1 and +1. Arrays `y`, `t`, `a`, `lower`, `upper` hold one entry for each row and broadcast together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ipub.errors import IpubError
from ipub.numeric.rounding import Array, down, midpoint_and_radius, up

Task = Literal["classification", "regression"]

SMALLEST_PARAMETER = 1e-100
"""Parameters of a loss below this or above its inverse are refused: quotients could underflow (fp-underflow)."""


@dataclass(frozen=True)
class LossParameter:
    """A positive number that a loss depends on, set by a parameter of the estimators."""

    field: str
    """Field of the loss that holds it; the field's default is the parameter's default."""
    description: str
    """What the error for an invalid value calls it."""

    def check(self, value: float) -> float:
        """Return the value as a Python float; raise an error outside ``[1e-100, 1e100]`` (fp-underflow, fp-forms)."""
        value = float(value)
        largest = 1.0 / SMALLEST_PARAMETER
        if not (SMALLEST_PARAMETER <= value <= largest):
            raise IpubError(
                "The {what} is {value:g}; it must be between {least:g} and {largest:g}.",
                what=self.description,
                value=value,
                least=SMALLEST_PARAMETER,
                largest=largest,
            )
        return value


class Loss(ABC):
    """A convex loss ``l(y, t)`` of the score t, finite and non-negative.

    A subclass is a frozen dataclass whose fields are its parameters, each of them declared in `parameters`.
    """

    name: ClassVar[str]
    """What the `loss` parameter of the estimators calls it."""
    task: ClassVar[Task]
    parameters: ClassVar[Mapping[str, LossParameter]] = {}
    """For each parameter of the estimators that this loss depends on, the field that it sets."""
    has_probability: ClassVar[bool] = False
    """Whether `link` gives the probability of the label +1."""
    is_smooth: ClassVar[bool] = True
    """Whether there is a derivative everywhere, with bounded secant slopes."""
    has_bounded_third_derivative: ClassVar[bool] = False
    """Whether the curvature is positive everywhere and has two bounded derivatives (lem-chords)."""

    def __post_init__(self) -> None:
        for parameter in self.parameters.values():
            object.__setattr__(self, parameter.field, parameter.check(getattr(self, parameter.field)))

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
        """Return ``l*(y, -a) = sup_t (-a t - l(y, t))``, infinite outside its domain."""

    @abstractmethod
    def value_upper(self, y: Array, t: Array) -> Array:
        """Bound l(y, t) from above (thm-sphere and thm-origin)."""

    @abstractmethod
    def conjugate_upper(self, y: Array, a: Array) -> Array:
        """Bound l*(y, -a) from above, for `a` in its domain (thm-sphere)."""

    @abstractmethod
    def residual_upper(self, y: Array, t: Array, a: Array) -> Array:
        """Bound the Fenchel-Young residual ``l(y, t) + l*(y, -a) + a t`` from above (thm-sphere and thm-half-ball)."""

    def residual_upper_between(self, y: Array, lower: Array, upper: Array, a: Array) -> Array:
        """Bound the residual for every score in [lower, upper]: it is convex in it (thm-sphere, thm-half-ball)."""
        return np.maximum(self.residual_upper(y, lower, a), self.residual_upper(y, upper, a))

    @abstractmethod
    def derivative_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Bound every (sub)derivative at every score in [lower, upper] (thm-half-ball, thm-intercept and thm-slopes).

        A NaN in `lower` or `upper` stands for an unknown score: nothing is claimed that it could break.
        """

    def jump_at(self, y: Array) -> Array | None:  # noqa: ARG002 (most have none)
        """Return the exact score at which the derivative jumps, if it does; there `derivative_range` is exact."""
        return None

    def derivative_midpoint_and_radius(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Return c and e such that every derivative at a score in [lower, upper] is within e of c (thm-slopes).

        Meant for short intervals, where it may be cheaper than `derivative_range`; it holds for all.
        """
        return midpoint_and_radius(*self.derivative_range(y, lower, upper))

    def curvature_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:  # noqa: ARG002 (no claim)
        """Bound the slope of every secant of the derivative between two scores in [lower, upper] (thm-move-set)."""
        return np.zeros_like(lower), np.full_like(upper, np.inf)

    def secant_range(self, y: Array, lower: Array, upper: Array, move: Array) -> tuple[Array, Array]:
        """Bound the slope of every secant of the derivative from [lower, upper] over at most `move` (sec-lines)."""
        return self.curvature_range(y, down(lower - move), up(upper + move))

    def curvature_slope_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Bound the derivative of the curvature over scores in [lower, upper] (lem-chords).

        Only for losses that have `has_bounded_third_derivative`.
        """
        raise NotImplementedError(f"The curvature of {self.name} is not differentiable.")

    def derivative_line(self, y: Array, score: Array, lower: Array, upper: Array) -> tuple[Array, Array, Array]:
        """Enclose the derivative near a jump by a line (sec-lines).

        Returns c, ``h >= 0`` and e such that every (sub)derivative at every t in [lower, upper] is within e of
        ``c + h (t - score)``. For losses that are not smooth, at scores where `curvature_range` is infinite.
        """
        raise NotImplementedError(f"The derivative of {self.name} has no jump.")

    def wrong_label_upper(self, lower: Array, upper: Array) -> Array:
        """Bound ``Delta(t) = psi(t; -1) - psi(t; 1)``, never negative, over scores in [lower, upper].

        psi is any (sub)derivative of a loss of classification: Delta is how much a wrong label changes it
        (sec-wrong-labels).
        """
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
