"""The two labels that a row may have where labels are uncertain: all others have derivatives between theirs (Lemma 27).

A target in an interval: its ends. A row of unknown class, which is entered twice: each entry with none of its weight,
or with twice its weight. A label that may be wrong: the given one, and the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.row_sums.graphs import LossGraph
from ipub.losses import Loss
from ipub.numeric.rounding import down, up
from ipub.rows.completions import WholeTable
from ipub.tables.interval_matrix import Indices


@dataclass(frozen=True, eq=False)
class LabelPair:
    """The derivatives of rows with the first, and with the second of their two labels."""

    first: LossGraph
    second: LossGraph

    def __iter__(self) -> Iterator[LossGraph]:
        return iter((self.first, self.second))

    def of_rows(self, which: NDArray[np.bool_] | Indices) -> LabelPair:
        """Return those of some of the rows."""
        return LabelPair(self.first.of_rows(which), self.second.of_rows(which))


def label_pair(loss: Loss, table: WholeTable, max_wrong_labels: int) -> LabelPair | None:
    """Return the two labels of all rows of a table; None if labels are uncertain in another way.

    A row whose label is certain has it twice.
    """
    y, radius, of_weight = table.y, table.label_radius, table.weight_radius
    if max_wrong_labels:
        return LabelPair(LossGraph(loss, y), LossGraph(loss, -y))
    if ((of_weight != 0.0) & ((of_weight != 1.0) | (radius > 0.0))).any():
        return None
    upper, lower = np.where(radius > 0.0, up(y + radius), y), np.where(radius > 0.0, down(y - radius), y)
    return LabelPair(LossGraph(loss, upper, 1.0 + of_weight), LossGraph(loss, lower, 1.0 - of_weight))
