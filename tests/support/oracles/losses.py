"""What the exact tests know of each loss, from its definition alone: `ORACLES` has one entry for each.

A new loss needs an entry here, and nothing else in the tests: a `LineOracle` if its derivative is a line, cut off or
endless, a `CurvedOracle` if it has a derivative of all orders. Exact minimisers of others are those of the hinge
alone (`LossOracle.minimiser`): another loss whose derivative jumps needs one in `exact.py`, in `intercept.py` and in
`support/attacks.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from flint import arb, arb_series, fmpq

from ipub.losses import Huber, Loss, SmoothedHinge
from support.oracles.piecewise import Line
from support.oracles.rationals import ball_ends, rational

Exact = arb | fmpq
"""A rational, or a ball that encloses the value at the working precision."""


class LossOracle(ABC):
    """Exact values of one loss, with the parameters that it has."""

    minimiser: ClassVar[Literal["lines", "hinge", "curved"]]
    """By which method exact minimisers are found."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss

    @property
    @abstractmethod
    def domain(self) -> tuple[float, float]:
        """Return the ends of the conjugate's domain: of ``b = a y`` for a classification loss, else of ``a``."""

    @abstractmethod
    def value(self, y: float, t: float) -> Exact:
        """Return l(y, t)."""

    @abstractmethod
    def conjugate(self, y: float, a: float) -> Exact:
        """Return l*(y, -a) for a in the domain."""

    @abstractmethod
    def slopes(self, y: float, t: float | fmpq) -> list[fmpq]:
        """Return numbers that enclose the derivative: the ends of the subdifferential at a kink."""

    def kinks(self, y: float) -> list[fmpq]:
        """Return the scores where the derivative jumps or has none itself."""
        return []


class SmoothOracle(LossOracle):
    """A loss with a derivative everywhere."""

    @abstractmethod
    def slope_ball(self, y: float, t: arb) -> arb:
        """Enclose the derivative over a ball of scores."""


class LineOracle(SmoothOracle):
    """A loss whose derivative is a line, cut off at its ends or endless."""

    minimiser = "lines"

    @lru_cache(maxsize=4096)  # noqa: B019 (there are few oracles, and they stay)
    def line(self, y: float | fmpq) -> Line:
        """Return the derivative, made once for each target."""
        return self.new_line(y)

    @abstractmethod
    def new_line(self, y: float | fmpq) -> Line:
        """Return the derivative."""

    def conjugate(self, y: float, a: float) -> fmpq:
        return self.line(y).width / 2 * rational(a) ** 2 - rational(a) * rational(y)

    def slopes(self, y: float, t: float | fmpq) -> list[fmpq]:
        return [self.line(y).slope(rational(t))]

    def slope_ball(self, y: float, t: arb) -> arb:
        return self.line(y).slope_ball(t)

    def kinks(self, y: float) -> list[fmpq]:
        line = self.line(y)
        return [line.y + end * line.width for end in (line.bottom, line.top) if end is not None]


class CurvedOracle(SmoothOracle):
    """A loss with derivatives of all orders; `slope_ball` takes power series in place of balls as well."""

    minimiser = "curved"

    @property
    @abstractmethod
    def steepest(self) -> fmpq:
        """Return a bound of the curvature."""

    def curvature_ball(self, y: float, t: arb) -> arb:
        """Enclose the curvature over a ball of scores."""
        slopes: Any = self.slope_ball(y, arb_series([t, 1], prec=2))
        return slopes[1]


class SquaredOracle(LineOracle):
    domain = (float("-inf"), float("inf"))

    def new_line(self, y: float | fmpq) -> Line:
        return Line(rational(y), fmpq(1, 2), None, None)

    def value(self, y: float, t: float) -> fmpq:
        return (rational(t) - rational(y)) ** 2


class HuberOracle(LineOracle):
    loss: Huber

    @property
    def domain(self) -> tuple[float, float]:
        return -self.loss.delta, self.loss.delta

    def new_line(self, y: float | fmpq) -> Line:
        delta = rational(self.loss.delta)
        return Line(rational(y), fmpq(1), -delta, delta)

    def value(self, y: float, t: float) -> fmpq:
        d, delta = rational(t) - rational(y), rational(self.loss.delta)
        return d * d / 2 if abs(d) <= delta else delta * (abs(d) - delta / 2)


class SquaredHingeOracle(LineOracle):
    domain = (0.0, float("inf"))

    def new_line(self, y: float | fmpq) -> Line:
        return Line(rational(y), fmpq(1, 2), *((None, fmpq(0)) if y > 0 else (fmpq(0), None)))

    def value(self, y: float, t: float) -> fmpq:
        return max(fmpq(0), 1 - rational(y) * rational(t)) ** 2


class SmoothedHingeOracle(LineOracle):
    loss: SmoothedHinge

    domain = (0.0, 1.0)

    def new_line(self, y: float | fmpq) -> Line:
        ends = (fmpq(-1), fmpq(0)) if y > 0 else (fmpq(0), fmpq(1))
        return Line(rational(y), rational(self.loss.width), *ends)

    def value(self, y: float, t: float) -> fmpq:
        z, width = 1 - rational(y) * rational(t), rational(self.loss.width)
        return z - width / 2 if z > width else max(fmpq(0), z) ** 2 / (2 * width)


class HingeOracle(LossOracle):
    minimiser = "hinge"
    domain = (0.0, 1.0)

    def value(self, y: float, t: float) -> fmpq:
        return max(fmpq(0), 1 - rational(y) * rational(t))

    def conjugate(self, y: float, a: float) -> fmpq:
        return -rational(a) * rational(y)

    def slopes(self, y: float, t: float | fmpq) -> list[fmpq]:
        margin = rational(y) * rational(t)
        return ([-rational(y)] if margin <= 1 else []) + ([fmpq(0)] if margin >= 1 else [])

    def kinks(self, y: float) -> list[fmpq]:
        return [rational(y)]


class LogisticOracle(CurvedOracle):
    domain = (0.0, 1.0)
    steepest = fmpq(1, 4)

    def value(self, y: float, t: float) -> arb:
        margin = arb(y) * arb(t)
        return arb.max(-margin, arb(0)) + (-abs(margin)).exp().log1p()

    def conjugate(self, y: float, a: float) -> arb:
        b = arb(a) * arb(y)
        total = arb(0)
        if b > 0:
            total += b * b.log()
        if b < 1:
            total += (1 - b) * (-b).log1p()
        return total

    def slopes(self, y: float, t: float | fmpq) -> list[fmpq]:
        return [-rational(y) * end for end in sigmoid_ends(-arb(y) * arb(t))]

    def slope_ball(self, y: float, t: arb) -> arb:
        return -arb(y) / (1 + (arb(y) * t).exp())


def sigmoid_ends(t: arb) -> list[fmpq]:
    """Enclose the sigmoid between two rationals, both at most 1."""
    ball = 1 / (1 + (-t).exp()) if t >= 0 else t.exp() / (1 + t.exp())
    lower, upper = ball_ends(ball)
    return [lower, min(upper, fmpq(1))]


ORACLES: dict[str, Callable[[Loss], LossOracle]] = {
    "squared_error": SquaredOracle,
    "hinge": HingeOracle,
    "log_loss": LogisticOracle,
    "squared_hinge": SquaredHingeOracle,
    "smoothed_hinge": SmoothedHingeOracle,
    "huber": HuberOracle,
}


@lru_cache(maxsize=256)
def oracle_of(loss: Loss) -> LossOracle:
    """Return the exact oracle of a loss; raise NotImplementedError for one that has none."""
    if loss.name not in ORACLES:
        place = Path(__file__).relative_to(Path(__file__).parents[3]).as_posix()
        raise NotImplementedError(f"no exact oracle for {loss.name}: add it to {place}")
    return ORACLES[loss.name](loss)
