"""The hinge loss with its kink replaced by a parabola."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.losses.base import LossParameter
from ipub.losses.clipped import ClippedLine
from ipub.numeric.rounding import Array


@dataclass(frozen=True)
class SmoothedHinge(ClippedLine):
    """The hinge loss with a parabola of length `width` in place of its kink; link: sign, 0 meaning unknown.

    ``z^2 / (2 width)`` for z = 1 - y t between 0 and `width`, 0 below and ``z - width / 2`` above. Its negated
    derivative ``y clip(z / width, 0, 1)`` lies in the domain of the hinge's conjugate, so training the hinge by ever
    smaller widths gives dual points of the hinge.
    """

    width: float = 0.5

    name = "smoothed_hinge"
    task = "classification"
    parameters = {"hinge_width": LossParameter("width", "width of the smoothed hinge")}  # noqa: RUF012 (a ClassVar)

    @property
    def _width(self) -> float:
        return self.width

    def _ends(self, y: Array) -> tuple[Array, Array]:
        return np.where(y > 0.0, -1.0, 0.0), np.where(y > 0.0, 0.0, 1.0)
