"""Uncertain rows, each in several variants, which together hold all that a completion may put in the row's place.

A row's term is the largest of its variants' terms. Intervals of the cells that matter most are cut into pieces, and
categories have one level, as far as that is not too many: what the cells of a variant do to its score, and what they
do to the sum, are then cells in the same small intervals. Where units count in a budget, a variant says how many of
them differ; a row with another label is a variant of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise, product
from math import prod
from typing import NamedTuple

import numpy as np

from ipub.certificates.row_sums.graphs import LossGraph
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.units import Group
from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import Indices

MOST_PIECES = (3, 2)
"""Pieces of the intervals of a row's two main cells, at most: width against time."""

PIECE_OF_SCORE = 0.3
"""About what a piece moves the row's score; a cell that moves it less is not cut: width against time.

For regression, in units of the rows' mean derivative: of the mean residual, or, if that is clipped, of its limit."""

MOST_VARIANTS = 64
"""Variants of one row, at most: width against time. The compiled loops take no more."""


DROPPED = 2
"""In place of a label: the row is left out of the table."""


class Level(IntEnum):
    """In place of a level of a category; the compiled loops have the same numbers."""

    ANY = -1
    """Any of them."""
    BASE = -2
    """What the table has: a level, or the mean of all."""


@dataclass(frozen=True, eq=False)
class Variants:
    """Parts of what may stand in place of each uncertain row."""

    row: Indices
    """Shape (n_variants,): positions among the uncertain rows, never decreasing."""
    used: Indices
    """Shape (n_variants, n_groups): how many units of each group differ from the table, at most."""
    label: Indices
    """Shape (n_variants,): 0 or 1: with the first or the second label of its row; `DROPPED`: without its row."""
    units: Indices
    """Shape (n_variants + 1,): the first of the entries of each variant, one for each unit of its row."""
    lower: Array
    upper: Array
    """Shape (n_entries,): by how much a number is changed."""
    level: Indices
    """Shape (n_entries,): of a category: a level, `Level.ANY` or `Level.BASE`."""
    graph: LossGraph
    """Their derivatives."""


def make_variants(table: RowTable, *, with_centers: bool) -> Variants:
    """Cut what may stand in place of each uncertain row into variants.

    Parameters
    ----------
    table : RowTable
    with_centers : bool
        Whether the center of a row whose category is missing, which is no completion of it, is one more variant: the
        objectives between the center and a completion have it as well (thm-ranges).
    """
    units, n_groups = table.units, len(table.budget)
    starts = table.unit_starts
    size = np.maximum(-units.lower, units.upper) * np.abs(table.w[units.column]) / _unit_of_scores(table)
    variants: list[_Variant] = []
    for row, (first, end) in enumerate(pairwise(starts.tolist())):
        own = slice(first, end)
        group, label_group = units.group[own], int(table.label_group[row])
        labels = (0,) if label_group == Group.CERTAIN else (0, 1)
        n_others = len(labels) + (table.dropped_group != Group.CERTAIN)  # centers, and the row that is not there
        most = (MOST_VARIANTS - n_others) // len(labels)
        uses = _uses(group, table.budget, most)
        most = min(most // len(uses), MOST_VARIANTS // 2)
        parts = list(_parts(table, own, size, most)) if (group == Group.FREE).any() else [{}]
        for used, label, part in product(uses, labels, parts):
            with_label = [label if number == label_group else used[number] for number in range(n_groups)]
            variants.append(_Variant(row, with_label, label, *_entries(table, own, part)))
        zeros, levels = np.zeros(end - first), np.full(end - first, Level.BASE)
        if table.dropped_group != Group.CERTAIN:
            # Whatever else differs in the row: it is not there.
            only_dropped = [int(number == table.dropped_group) for number in range(n_groups)]
            variants.append(_Variant(row, only_dropped, DROPPED, zeros, zeros, levels))
        is_center = (units.base[own] < 0) & ~units.is_number[own]
        if with_centers and is_center.any():
            # A label that may be wrong is the given one at the center.
            for label in labels if label_group == Group.FREE else (0,):
                variants.append(_Variant(row, [0] * n_groups, label, zeros, zeros, levels))
    nothing = np.zeros(0)
    rows = np.array([each.row for each in variants], dtype=np.intp)
    which = np.array([each.label for each in variants], dtype=np.intp)
    pair = table.labels.of_rows(rows)
    return Variants(
        rows,
        np.array([each.used for each in variants], dtype=np.intp).reshape(len(variants), n_groups),
        which,
        np.cumsum([0, *(len(each.lower) for each in variants)]).astype(np.intp),
        np.concatenate([nothing, *(each.lower for each in variants)]),
        np.concatenate([nothing, *(each.upper for each in variants)]),
        np.concatenate([nothing, *(each.level for each in variants)]).astype(np.intp),
        pair.first.or_second(which == 1, pair.second).without(which == DROPPED),
    )


class _Variant(NamedTuple):
    row: int
    used: list[int]
    label: int
    lower: Array
    upper: Array
    level: Indices


Part = dict[int, tuple[float, float] | int]
"""The piece of its interval that a number of a row is in, or the level of a category, by place among its units."""


def _entries(table: RowTable, own: slice, part: Part) -> tuple[Array, Array, Indices]:
    """Return the changes of numbers and the levels of categories of all units of a row."""
    low, high = table.units.lower[own].copy(), table.units.upper[own].copy()
    levels = np.full(len(low), Level.ANY, dtype=np.intp)
    for k, chosen in part.items():
        if isinstance(chosen, tuple):
            low[k], high[k] = chosen
        else:
            levels[k] = chosen
    return low, high, levels


def _uses(group: Indices, budget: tuple[int, ...], most_uses: int) -> list[tuple[int, ...]]:
    """Return how many units of each group a variant of a row uses: none, 1, 2, 4, ..., all; not all if too many."""
    counts = []
    for number, allowed in enumerate(budget):
        most = min(int(np.count_nonzero(group == number)), allowed)
        powers = [2**k for k in range(most.bit_length()) if 2**k < most]
        counts.append([0, *powers, most] if most else [0])
    while (longest := max(counts, key=len, default=[])) and len(longest) > 2 and prod(map(len, counts)) > most_uses:
        del longest[-2]
    return list(product(*counts))


def _parts(table: RowTable, own: slice, size: Array, most: int) -> Iterator[Part]:
    """Yield for each variant of a row the pieces of its main numbers, and the levels of its categories."""
    units, w = table.units, table.w
    count = 1
    choices: list[list[tuple[int, tuple[float, float] | int]]] = []
    free = np.flatnonzero(units.group[own] == Group.FREE)
    is_number = units.is_number[own]
    columns = {k: units.levels[units.category[own][k]] for k in free if not is_number[k]}
    for k in sorted(columns, key=lambda k: -float(np.ptp(w[columns[k]]))):
        if count * len(columns[k]) <= most:
            choices.append([(int(k), level) for level in range(len(columns[k]))])
            count *= len(columns[k])
    main = sorted(free[is_number[free]], key=lambda k: -size[own][k])
    for k, most_pieces in zip(main, MOST_PIECES, strict=False):
        n_pieces = int(min(most_pieces, np.ceil(2.0 * size[own][k] / PIECE_OF_SCORE)))
        if n_pieces > 1 and count * n_pieces <= most:
            edges = np.linspace(units.lower[own][k], units.upper[own][k], n_pieces + 1).tolist()
            choices.append([(int(k), piece) for piece in pairwise(edges)])
            count *= n_pieces
    for chosen in product(*choices):
        yield dict(chosen)


def _unit_of_scores(table: RowTable) -> float:
    """Return what scores are compared with: for regression it grows with the unit of the targets."""
    graph = table.incomplete_graph
    if graph.loss.task == "classification" or not len(table.incomplete):
        return 1.0
    return float(np.abs(graph.value(table.incomplete @ table.w)).mean()) or 1.0
