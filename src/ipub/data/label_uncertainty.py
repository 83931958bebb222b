"""Labels that are not certain: targets in intervals, rows whose weight is not known, and a number of wrong ones."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ipub.errors import IpubError
from ipub.rounding import Array

NO_PAIRS: NDArray[np.intp] = np.zeros((0, 2), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class LabelUncertainty:
    """How far the labels of some rows are uncertain.

    A row with an unknown class is two rows, one for each class, with half its weight each; one of them has the whole
    weight and the other none, so either weight is uncertain by all of itself.

    Attributes
    ----------
    radius : array of shape (n_rows,)
        The target of each row lies within this distance of y.
    share : array of shape (n_rows,)
        Its weight lies within this share, at most 1, of itself.
    pairs : array of shape (n_unknown, 2), optional
        The two rows that each row of unknown class was entered as.
    flips : int
        At most so many rows, whichever, are of the other of two classes; all other labels are then certain.
    """

    radius: Array
    share: Array
    pairs: NDArray[np.intp] = field(default_factory=lambda: NO_PAIRS)
    flips: int = 0

    def __post_init__(self) -> None:
        if self.flips and (self.radius.any() or self.share.any()):
            raise IpubError("Labels are either wrong in a number of rows, or uncertain in known ones: not both.")

    @classmethod
    def of_flips(cls, n_rows: int, flips: int) -> LabelUncertainty:
        """Say that at most `flips` of the labels are wrong."""
        return cls(np.zeros(n_rows), np.zeros(n_rows), flips=flips)

    def within(self, rows: slice) -> LabelUncertainty:
        """Return that of some rows, without pairs."""
        return LabelUncertainty(self.radius[rows], self.share[rows], flips=self.flips)

    def settled(self, y: Array, weight: Array, positions: Array) -> tuple[Array, Array]:
        """Return targets and weights of labels at ``y + position * radius``; a pair is what its first row says."""
        factor = np.ones(len(y))
        chosen = np.where(positions[self.pairs[:, 0]] >= 0.0, 1.0, -1.0)
        factor[self.pairs[:, 0]] += chosen
        factor[self.pairs[:, 1]] -= chosen
        return y + positions * self.radius, weight * factor
