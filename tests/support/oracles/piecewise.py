"""Losses whose derivative is a line cut off at both ends, in exact arithmetic and from their definitions alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from flint import arb, fmpq

from ipub.losses import Loss
from support.oracles.rationals import rational


@dataclass(frozen=True)
class Line:
    """The derivative ``(t - y) / width``, cut off at `bottom` and `top` (None: not at all)."""

    y: fmpq
    width: fmpq
    bottom: fmpq | None
    top: fmpq | None

    def slope(self, t: fmpq) -> fmpq:
        p = (t - self.y) / self.width
        if self.bottom is not None and p < self.bottom:
            return self.bottom
        return self.top if self.top is not None and p > self.top else p

    def slope_ball(self, t: arb) -> arb:
        p = (t - arb(self.y)) / arb(self.width)
        if self.bottom is not None:
            p = arb.max(p, arb(self.bottom))
        return p if self.top is None else arb.min(p, arb(self.top))

    def piece(self, t: float) -> str:
        """Say on which piece a score lies."""
        p = (rational(t) - self.y) / self.width
        if self.bottom is not None and p < self.bottom:
            return "bottom"
        return "top" if self.top is not None and p > self.top else "line"

    @property
    def pieces(self) -> dict[str, tuple[fmpq, fmpq]]:
        """For each piece the slope at score 0 and how it grows with the score."""
        found = {"line": (-self.y / self.width, 1 / self.width)}
        if self.bottom is not None:
            found["bottom"] = (self.bottom, fmpq(0))
        if self.top is not None:
            found["top"] = (self.top, fmpq(0))
        return found


@lru_cache(maxsize=4096)
def line_of(loss: Loss, y: float | fmpq) -> Line | None:
    """Return the derivative of a loss as such a line, None for losses of another kind."""
    y = rational(y)
    if loss.name == "squared_error":
        return Line(y, fmpq(1, 2), None, None)
    if loss.name == "huber":
        delta = rational(loss.delta)
        return Line(y, fmpq(1), -delta, delta)
    if loss.name == "squared_hinge":
        return Line(y, fmpq(1, 2), *((None, fmpq(0)) if y > 0 else (fmpq(0), None)))
    if loss.name == "smoothed_hinge":
        return Line(y, rational(loss.width), *((fmpq(-1), fmpq(0)) if y > 0 else (fmpq(0), fmpq(1))))
    return None
