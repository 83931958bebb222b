"""Huber's loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.losses.base import LossParameter
from ipub.losses.clipped import ClippedLine
from ipub.numeric.rounding import Array


@dataclass(frozen=True)
class Huber(ClippedLine):
    """Huber's loss of regression; link: identity.

    With ``d = t - y``: ``d^2 / 2`` for abs(d) up to `delta`, ``delta (abs(d) - delta / 2)`` beyond.
    """

    delta: float = 1.0

    name = "huber"
    task = "regression"
    parameters = {"huber_delta": LossParameter("delta", "delta of Huber's loss")}  # noqa: RUF012 (a ClassVar)
    _width = 1.0

    def _ends(self, y: Array) -> tuple[Array, Array]:
        return np.full(np.shape(y), -self.delta), np.full(np.shape(y), self.delta)
