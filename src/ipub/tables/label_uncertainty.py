"""Uncertain labels: targets in intervals, rows of unknown class, and a number of wrong labels in unknown rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ipub.errors import IpubError
from ipub.numeric.rounding import Array

NO_PAIRS: NDArray[np.intp] = np.zeros((0, 2), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class LabelUncertainty:
    """How far the labels of the rows are uncertain.

    A row of unknown class is entered as two rows, one for each class, each with half its weight. In truth one of them
    has the whole weight and the other none, so both weights are uncertain by 100 %.
    """

    radius: Array
    """Shape (n_rows,): the target of each row lies within this distance of y."""
    weight_radius: Array
    """Shape (n_rows,): the weight s of each row lies within ``s * (1 - weight_radius)`` and ``s * (1 +
    weight_radius)``; at most 1."""
    pairs: NDArray[np.intp] = field(default_factory=lambda: NO_PAIRS)
    """Shape (n_unknown, 2): the two rows that each row of unknown class was entered as."""
    max_wrong_labels: int = 0
    """At most so many labels, in any rows, are of the other of two classes; all other labels are then certain."""

    def __post_init__(self) -> None:
        if self.max_wrong_labels and (self.radius.any() or self.weight_radius.any()):
            raise IpubError("Labels may be wrong in a number of rows, or uncertain in given rows, but not both.")

    @classmethod
    def of_wrong_labels(cls, n_rows: int, max_wrong_labels: int) -> LabelUncertainty:
        """Return the uncertainty of labels of which at most `max_wrong_labels`, in any rows, are wrong."""
        return cls(np.zeros(n_rows), np.zeros(n_rows), max_wrong_labels=max_wrong_labels)

    def within(self, rows: slice) -> LabelUncertainty:
        """Return the uncertainty of consecutive rows, without pairs."""
        return LabelUncertainty(self.radius[rows], self.weight_radius[rows], max_wrong_labels=self.max_wrong_labels)

    def settled(self, y: Array, weight: Array, positions: Array) -> tuple[Array, Array]:
        """Return targets ``y + position * radius`` and weights; of a pair the first row counts if its position >= 0."""
        factor = np.ones(len(y))
        chosen = np.where(positions[self.pairs[:, 0]] >= 0.0, 1.0, -1.0)
        factor[self.pairs[:, 0]] += chosen
        factor[self.pairs[:, 1]] -= chosen
        return y + positions * self.radius, weight * factor
