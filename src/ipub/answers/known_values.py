"""What the scores of rows lose of their range once missing values of the training table are known (thm-known-value).

Each value by itself is bounded from both sides, whatever it is and whatever all others are; and these bounds add up to
bounds of what several lose together. So one pass says it for every value, row and column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ipub.answers.missing_values import MissingValues
from ipub.certificates import Certificate, TrainedModel
from ipub.certificates.per_row.trends import LevelMoves, Trends, reason_against_trends
from ipub.certificates.row_sums.bounds import ranges_to_search
from ipub.certificates.slopes.bounds import SlopeBounds
from ipub.model_sets.move_sets import FromCertificate, Intersection, KnownRows, MoveSet
from ipub.numeric.rounding import EPS, Array, down, overflow_means_unbounded, up
from ipub.rows import MemoryRows, engine_of
from ipub.tables.interval_matrix import Indices

MOST_NUMBERS = 65_536
"""Numbers that are looked at at a time: they fit into the cache. With a million, 7,560 values and 1,000 rows took twice
as long."""


class RowParts(NamedTuple):
    """Some rows to predict, and what their score loses of its range."""

    rows: slice
    lower: Array
    upper: Array
    """Shape (m, n_missing): at least, and at most, once the value is known, whatever it is."""
    range_upper: Array
    """Shape (m, n_missing): the most that the value, by itself, can move the score."""


class Levels(NamedTuple):
    """What scores lose of their range once a missing category is known to be at each of its levels."""

    which: Indices
    """Shape (n,): numbers among the missing values."""
    lower: Array
    upper: Array
    """Shape (m, n, n_levels)."""


@dataclass(frozen=True, eq=False)
class KnownValues:
    """How much narrower exact ranges of scores become once single missing values are known (thm-known-value)."""

    missing: MissingValues
    trends: Trends
    _scale: Array
    """Shape (n_numbers,): radius times the weight of its row."""
    _cell: Indices
    """Shape (n_numbers,): which of the uncertain cells of the model each number is."""

    @classmethod
    def of(cls, missing: MissingValues, model: TrainedModel, certificate: Certificate) -> KnownValues | None:
        """Enclose the models of all completions; None where thm-trends does not apply, or proves nothing."""
        problem, solution = model
        if reason_against_trends(problem) is not None or not problem.rows.allows_matrices:
            return None
        engine = engine_of(problem.rows)
        assert isinstance(engine, MemoryRows)
        with overflow_means_unbounded():
            trends = Trends.of(problem, solution, _moves(certificate, solution.w))
        if trends is None:
            return None
        cell = np.searchsorted(np.flatnonzero(missing.matrix.radii > 0.0), missing.holes.cells)
        incomplete = trends.incomplete
        scale = incomplete.weight[incomplete.cell_rows[cell]] * incomplete.cell_radii[cell]
        return cls(missing, trends, scale, cell.astype(np.intp))

    def in_parts(self, rows: Array) -> Iterator[RowParts]:
        """Yield what the scores of rows (as `Training.extended`) lose, some rows at a time, for all missing values."""
        n = self.missing.n_numbers
        for part in self._slices(rows):
            with overflow_means_unbounded():
                lower, upper, range_upper = (np.zeros((len(rows[part]), len(self.missing))) for _ in range(3))
                lower[:, :n], upper[:, :n], range_upper[:, :n] = self._of_numbers(rows[part])
                for moves in self.trends.of_levels(rows[part]):
                    which, least, most = _of_levels(moves)
                    lower[:, n + which], upper[:, n + which] = least.min(axis=2), most.max(axis=2)
                    range_upper[:, n + which] = moves.highest.max(axis=(2, 3))
            yield RowParts(part, _known(lower, 0.0), _known(upper, np.inf), _known(range_upper, np.inf))

    def at_levels(self, rows: Array) -> Iterator[tuple[slice, Levels]]:
        """Yield the same for each level of the missing categories."""
        n = self.missing.n_numbers
        for part in self._slices(rows):
            with overflow_means_unbounded():
                found = [_of_levels(moves) for moves in self.trends.of_levels(rows[part])]
            for which, lower, upper in found:
                yield part, Levels(n + which, _known(lower, 0.0), _known(upper, np.inf))

    def _of_numbers(self, rows: Array) -> tuple[Array, Array, Array]:
        """Return what is lost, at least and at most, and how far each number can move the score.

        The score falls by between a and b with each unit of the position, which goes from -1 to 1. If both have one
        sign, a known position takes away between twice the smaller and twice the larger size; else up to ``2 (b - a)``.
        """
        low, high = self.trends.of_cells(rows)
        low, high = low[:, self._cell], high[:, self._cell]
        # Rounding of the weight, the radius and their product.
        most = up(self._scale * (2.0 + 32.0 * EPS))
        least = down(self._scale * (2.0 - 32.0 * EPS))
        size = np.maximum(np.abs(low), np.abs(high))
        certain = np.maximum(np.maximum(low, -high), 0.0)
        spread = np.where(certain > 0.0, size, up(high - low))
        return np.maximum(down(least * certain), 0.0), up(most * spread), up(most * size)

    def _slices(self, rows: Array) -> list[slice]:
        n_levels = sum(len(levels.columns) ** 2 for levels in self.trends.incomplete.choices.levels)
        step = max(1, MOST_NUMBERS // max(1, len(self._cell) + n_levels * len(self.missing.rows)))
        return [slice(start, start + step) for start in range(0, len(rows), step)]


def fast_certificate(certificate: Certificate) -> Certificate:
    """Return the certificate without the parts that are meant for calls with few rows."""
    in_columns = certificate.in_columns()
    fast = tuple(part for part in in_columns.parts if part.most_rows is None)
    return replace(in_columns, parts=fast) if fast else in_columns


def _of_levels(moves: LevelMoves) -> tuple[Indices, Array, Array]:
    """Return what a score loses once a category is at each of its levels (thm-known-value)."""
    lowest, highest = moves.lowest, moves.highest
    least = down(lowest.max(axis=3) - highest.min(axis=3))
    most = up(highest.max(axis=3) - lowest.min(axis=3))
    return moves.which, np.maximum(least, 0.0), most


def _known(values: Array, otherwise: float) -> Array:
    """Return bounds with what overflowed replaced by what is known anyway."""
    return np.where(np.isfinite(values), values, otherwise)


def _moves(certificate: Certificate, w: Array) -> MoveSet:
    """Return how far the models of all completions are proved to be from w."""
    sets: list[MoveSet] = []
    slopes, ranges = certificate.part(SlopeBounds), ranges_to_search(certificate)
    if slopes is not None:
        sets.append(slopes.as_move_set())
    if ranges is not None:
        sets.append(KnownRows.of(ranges.table.directions, w, ranges.lower, ranges.upper))
    if not sets:
        return FromCertificate(fast_certificate(certificate), w)
    return sets[0] if len(sets) == 1 else Intersection(tuple(sets))
