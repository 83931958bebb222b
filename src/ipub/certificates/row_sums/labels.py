"""The two labels that a row may have where labels are uncertain: all others have derivatives between theirs (Lemma 27).

A target in an interval: its ends. A row of unknown class, which is entered twice: each entry with none of its weight,
or with twice its weight. A label that may be wrong: the given one, and the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.row_sums.graphs import JoinedGraphs, LossGraph
from ipub.data.interval_matrix import Indices
from ipub.engine.completions import WholeTable
from ipub.engine.ops import largest
from ipub.losses import Loss
from ipub.rounding import Array, down, up


class LabelPair(NamedTuple):
    """The derivatives of rows with the first, and with the second of their two labels."""

    first: LossGraph
    second: LossGraph

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


@dataclass(frozen=True)
class TableGraphs:
    """The derivatives of the complete and of the incomplete rows of a table."""

    complete: LossGraph | JoinedGraphs
    incomplete: LossGraph

    def of_rows(self, complete: NDArray[np.bool_], incomplete: NDArray[np.bool_]) -> TableGraphs:
        """Return those of some of the rows."""
        return TableGraphs(self.complete.of_rows(complete), self.incomplete.of_rows(incomplete))


class SecondLabels(NamedTuple):
    """Which rows have their second label, for each of k directions."""

    complete: NDArray[np.bool_]
    """Shape (k, n_complete)."""
    incomplete: NDArray[np.bool_]
    """Shape (k, n_incomplete)."""


@dataclass(frozen=True)
class TwoLabels:
    """The derivatives of a table's rows with either of their labels, and how many rows may have the second one."""

    first: TableGraphs
    second: TableGraphs
    most: int | None
    """So many rows at most; None: all of them."""

    def of_rows(self, complete: NDArray[np.bool_], incomplete: NDArray[np.bool_]) -> TwoLabels:
        """Return those of some of the rows."""
        first, second = (each.of_rows(complete, incomplete) for each in (self.first, self.second))
        return TwoLabels(first, second, self.most)

    def chosen(self, is_second: SecondLabels) -> TableGraphs:
        """Return the derivatives with the labels that are chosen for each direction."""
        return TableGraphs(
            self.first.complete.or_second(is_second.complete, self.second.complete),
            self.first.incomplete.or_second(is_second.incomplete, self.second.incomplete),
        )

    def gained(self, first: Array, second: Array) -> Array:
        """Return the greatest sum of what rows gain by their second label, along the last axis (Lemma 27)."""
        gains = np.maximum(second - first, 0.0)
        if self.most is None:
            return np.asarray(gains.sum(axis=-1))
        return np.asarray(largest(np.moveaxis(gains, -1, 0), self.most).sum(axis=0))
