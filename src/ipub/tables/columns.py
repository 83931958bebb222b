"""Summaries of the observed values of a column: range and two quantiles.

A long table is read once, a block of rows at a time. A sample of the rows gives a bracket for each quantile, with a
margin of several standard deviations; reading counts the values below the bracket and keeps those inside it, and the
quantile is selected among these few. It is the same, to the last bit, as that of `numpy.quantile`: if it is not in the
bracket, the column is read as a whole. Where values occur so often that much of the column would be kept, the bracket
is the sample's quantile alone, which takes no memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ipub.errors import IpubWarning
from ipub.numeric.parallel import in_threads, row_slices
from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import Indices

SENTINELS = (0.0, -1.0, *(sign * number for number in (9.0, 99.0, 999.0, 9999.0, 99999.0) for sign in (-1.0, 1.0)))
"""Numbers often written for a missing value."""
FEWEST = 2
"""How often the number must occur: fewer give more false warnings."""
FEWEST_OTHERS = 10
"""How many different values there must be beside it."""
FENCE = 1.5
"""How far from the middle half of the others it must lie, in lengths of that half (Tukey's fence)."""
GAP = 0.5
"""How far from every other value it must lie, in the same lengths."""
SAMPLE_SIZE = 2000
"""Values of a column that its quartiles are computed from, about."""


class SentinelWarning(IpubWarning):
    """A number that occurs repeatedly, far from all others, may stand for a missing value."""


def sentinel_in(observed: Array) -> float | None:
    """Return the number at the end of a column that may stand for a missing value, if there is one.

    Examples
    --------
    >>> import numpy as np
    >>> sentinel_in(np.array([-999.0, *range(30, 50), -999.0]))
    -999.0
    """
    for value in (float(observed.min()), float(observed.max())):
        if value not in SENTINELS:
            continue
        others = observed[observed != value]
        sample = others[:: 1 + len(others) // SAMPLE_SIZE]
        if is_sentinel(
            value, len(observed) - len(others), len(others), sample, np.abs(others - value).min(initial=np.inf)
        ):
            return value
    return None


def is_sentinel(value: float, count: int, n_others: int, sample: Array, gap: float) -> bool:
    """Whether a number at the end of a column, which occurs `count` times, may stand for a missing value.

    `sample` has some of the other values, and `gap` is the distance to the nearest of them all.
    """
    if not FEWEST <= count <= n_others or len(sample) == 0:  # most of a column is no exception
        return False
    low, high = np.quantile(sample, [0.25, 0.75])
    distance = FENCE * (high - low)
    is_far = not low - distance <= value <= high + distance and gap >= GAP * (high - low)
    return bool(is_far and len(np.unique(sample)) >= FEWEST_OTHERS)


LONG = 1 << 15
"""Rows from which a sample saves time."""
SAMPLED = 32
"""About one row in so many is in the sample, fewer of very long tables."""
MOST_SAMPLED = 1 << 14
"""Rows in a sample, about, at most."""
MANY_CELLS = 1 << 17
"""Cells from which threads save time."""
DEVIATIONS = 4.5
"""Margin of a bracket, in standard deviations of the sample's quantile: more keep more, fewer fail more often."""
MOST_KEPT = 0.125
"""Fraction of a column that may be kept to select a quantile from: memory against a second reading."""
BLOCK_CELLS = 1 << 19
"""Cells of a block: enough that calls cost little, few enough that they take little memory."""
BLOCK_COLUMNS = 32
"""Columns of a block, at most: with few columns a block has many rows, so that each call does much work."""
NEAR = 0.2 * GAP
"""A number with others this near in the sample is not isolated in the whole column (see `sentinel_in`)."""


@dataclass(frozen=True)
class Column:
    """Summary of a column; without observed values the range is (inf, -inf) and the quantiles are NaN."""

    has_holes: bool
    n_observed: int
    least: float = np.inf
    greatest: float = -np.inf
    quantiles: tuple[float, float] = (np.nan, np.nan)
    """Rounded outward to whole numbers if all observed values are whole; the two values of a column that has two."""
    sentinel: float | None = None
    """A number that may stand for a missing value."""

    @classmethod
    def of(cls, values: Array, probabilities: Sequence[float], counted: NDArray[np.bool_] | None = None) -> Column:
        """Summarize a whole column; NaN are its holes, and of rows that do not count only the holes are used."""
        observed_cells = ~np.isnan(values)
        has_holes = not observed_cells.all()
        observed = values[observed_cells if counted is None else observed_cells & counted]
        if len(observed) == 0:
            return cls(has_holes, 0)
        least, greatest = float(observed.min()), float(observed.max())
        if ((observed == least) | (observed == greatest)).all():
            quantiles = least, greatest
        else:
            is_whole = bool((observed == np.floor(observed)).all())
            low, high = np.quantile(observed, probabilities)
            quantiles = rounded_outward(low, high, is_whole)
        return cls(has_holes, len(observed), least, greatest, quantiles, sentinel_in(observed))


def summarize_columns(
    table: NDArray[np.generic],
    columns: Sequence[int],
    probabilities: Sequence[float],
    counted: NDArray[np.bool_] | None = None,
) -> Iterator[Column]:
    """Summarize columns, in threads; yield the summaries in order.

    The table has NaN where a value is missing; on a device its columns are sorted there. `probabilities` are those of
    the lower and of the upper quantile, and `counted` the rows that count, all if left out.
    """
    if not isinstance(table, np.ndarray):
        yield from (_on_device(table, probabilities, counted, j) for j in columns)
        return
    whole = partial(_whole_column, table, probabilities, counted)
    if len(table) < LONG:
        yield from in_threads(whole, columns) if table.size > MANY_CELLS else map(whole, columns)
        return
    for start in range(0, len(columns), BLOCK_COLUMNS):
        group = np.asarray(columns[start : start + BLOCK_COLUMNS])
        found = _Group(table, group, probabilities, counted).columns()
        left = in_threads(whole, [j for j, column in zip(group, found, strict=True) if column is None])
        for column in found:
            yield next(left) if column is None else column


def _whole_column(
    table: NDArray[np.generic], probabilities: Sequence[float], counted: NDArray[np.bool_] | None, j: int
) -> Column:
    return Column.of(np.array(table[:, j], dtype=float), probabilities, counted)


def _on_device(table: Any, probabilities: Sequence[float], counted: NDArray[np.bool_] | None, j: int) -> Column:
    """Summarize a column of a table on a device, as `Column.of` does; only where there may be a sentinel, by that."""
    values = table[:, j].astype(float, copy=False)
    has_holes = bool(np.isnan(values).any())
    ordered = np.sort(values if counted is None else values[counted])
    n = len(ordered) - int(np.count_nonzero(np.isnan(ordered)))
    if n == 0:
        return Column(has_holes, 0)
    least, greatest = float(ordered[0]), float(ordered[n - 1])
    suspects = [end for end in (least, greatest) if end in SENTINELS]
    if suspects:
        sample = np.asarray(ordered[: n : max(1, n // MOST_SAMPLED)])
        if not all(is_no_sentinel(sample, end) for end in suspects):
            return Column.of(np.asarray(values), probabilities, counted)
    n_ends = int(np.count_nonzero(ordered == least)) + int(np.count_nonzero(ordered == greatest))
    if n_ends == n or least == greatest:
        return Column(has_holes, n, least, greatest, (least, greatest))
    is_whole = least == np.floor(least) and int(np.count_nonzero(ordered == np.floor(ordered))) == n
    low, high = (
        interpolated(float(ordered[previous]), float(ordered[following]), fraction)
        for previous, following, fraction in (ranks_of(n, probability) for probability in probabilities)
    )
    return Column(has_holes, n, least, greatest, rounded_outward(low, high, is_whole))


@dataclass(frozen=True, eq=False)
class _BlockCounts:
    """Counts of a block of rows for each column and, for each quantile and column, values below and in the bracket."""

    n_holes: list[int]
    n_observed: list[int]
    n_fractions: list[int]
    n_thirds: list[int]
    """Values other than two, in columns whose sample has one or two different values."""
    least: Array
    greatest: Array
    below: tuple[list[int], ...]
    between: tuple[list[Array], ...]


class _Group:
    """Columns of a long table, read once, a block of rows after the other."""

    def __init__(
        self,
        table: NDArray[np.generic],
        group: Indices,
        probabilities: Sequence[float],
        counted: NDArray[np.bool_] | None,
    ) -> None:
        self.table, self.probabilities, self.counted = table, probabilities, counted
        self.n_columns = len(group)
        is_run = bool((np.diff(group) == 1).all())
        self.where: slice | Indices = slice(int(group[0]), int(group[-1]) + 1) if is_run else group
        rows = np.arange(len(table)) if counted is None else np.flatnonzero(counted)
        sample = self._values(rows[:: max(SAMPLED, len(rows) // MOST_SAMPLED)])
        sample.sort(axis=1)
        self.samples = [line[: len(line) - np.count_nonzero(np.isnan(line))] for line in sample]
        self.may_be_whole = [bool((sample == np.floor(sample)).all()) for sample in self.samples]
        self.may_be_two = [len(sample) > 0 and _has_two_values(sample) for sample in self.samples]
        self.brackets = [self._bracket_ends(probability) for probability in probabilities]

    def columns(self) -> list[Column | None]:
        """Return the summary of each column; None if it must be read as a whole."""
        blocks = row_slices(len(self.table), self.n_columns, BLOCK_CELLS)
        counts = list(in_threads(self._scan, blocks))
        return list(in_threads(partial(self._joined, counts), range(self.n_columns)))

    def _bracket_ends(self, probability: float) -> tuple[Array, Array]:
        """Return the lower and the upper end of the bracket of each column."""
        pairs = [bracket_of_sample(sample, probability) for sample in self.samples]
        return np.array([low for low, _ in pairs]), np.array([high for _, high in pairs])

    def _values(self, rows: slice | Indices) -> Array:
        """Return rows of the group, a line for each column."""
        return np.array(self.table[rows][:, self.where].T, dtype=float, order="C")

    def _scan(self, rows: slice) -> _BlockCounts:
        values = self._values(rows)
        holes = np.isnan(values)
        n_holes = n_missing = [int(np.count_nonzero(line)) for line in holes]
        if self.counted is not None and not self.counted[rows].all():
            values = values[:, self.counted[rows]]
            n_missing = [int(np.count_nonzero(np.isnan(line))) for line in values]
        n_observed = [len(line) - missing for line, missing in zip(values, n_missing, strict=True)]
        n_fractions = [
            int(np.count_nonzero(line != np.floor(line))) - missing if is_whole else 0
            for line, missing, is_whole in zip(values, n_missing, self.may_be_whole, strict=True)
        ]
        n_thirds = [
            int(np.count_nonzero((line != sample[0]) & (line != sample[-1]))) - missing if is_two else 0
            for line, missing, sample, is_two in zip(values, n_missing, self.samples, self.may_be_two, strict=True)
        ]
        below, between = zip(*(self._bracketed(values, n_observed, *ends) for ends in self.brackets), strict=True)
        least = np.fmin.reduce(values, axis=1, initial=np.inf)
        greatest = np.fmax.reduce(values, axis=1, initial=-np.inf)
        return _BlockCounts(n_holes, n_observed, n_fractions, n_thirds, least, greatest, below, between)

    def _bracketed(
        self, values: Array, n_observed: list[int], low: Array, high: Array
    ) -> tuple[list[int], list[Array]]:
        """Return how many values of each line are below its bracket, and which are inside."""
        is_between = values >= low[:, None]
        below = [n - int(np.count_nonzero(line)) for n, line in zip(n_observed, is_between, strict=True)]
        is_between &= values <= high[:, None]
        # A bracket of one value takes no memory, however often it occurs.
        single = {k: int(np.count_nonzero(is_between[k])) for k in np.flatnonzero(low == high).tolist()}
        is_between[list(single)] = False
        places = np.flatnonzero(is_between)
        starts = np.searchsorted(places, np.arange(1, len(values)) * values.shape[1])
        kept = np.split(values.reshape(-1)[places], starts)
        for k, count in single.items():
            kept[k] = np.broadcast_to(low[k], count)
        return below, kept

    def _joined(self, counts: list[_BlockCounts], k: int) -> Column | None:
        """Combine the counts of all blocks into the summary of a column."""
        has_holes, n = any(part.n_holes[k] for part in counts), sum(part.n_observed[k] for part in counts)
        least, greatest = min(float(part.least[k]) for part in counts), max(float(part.greatest[k]) for part in counts)
        sample = self.samples[k]
        if n == 0:
            return Column(has_holes, 0)
        if any(end in SENTINELS and not is_no_sentinel(sample, end) for end in (least, greatest)):
            return None
        if self.may_be_two[k] and not any(part.n_thirds[k] for part in counts):
            return Column(has_holes, n, least, greatest, (least, greatest))
        if ((sample == least) | (sample == greatest)).all():  # the sample does not tell whether there are two values
            return None
        quantiles = [
            _quantile(
                n, probability, sum(part.below[end][k] for part in counts), [part.between[end][k] for part in counts]
            )
            for end, probability in enumerate(self.probabilities)
        ]
        if np.isnan(quantiles).any():
            return None
        is_whole = self.may_be_whole[k] and not any(part.n_fractions[k] for part in counts)
        return Column(has_holes, n, least, greatest, rounded_outward(quantiles[0], quantiles[1], is_whole))


def _has_two_values(ordered: Array) -> bool:
    """Whether sorted values are no other than the first and the last."""
    return bool(((ordered == ordered[0]) | (ordered == ordered[-1])).all())


def rounded_outward(low: float, high: float, is_whole: bool) -> tuple[float, float]:
    """Return the ends as they are or, in a column of whole numbers, rounded outward to whole numbers."""
    if is_whole:
        low, high = np.floor(low), np.ceil(high) + 0.0  # no -0.0
    return float(low), float(high)


def bracket_of_sample(sample: Array, probability: float) -> tuple[float, float]:
    """Return a bracket of the column's quantile by its sorted sample, a single value if any other holds too much."""
    n = len(sample)
    if n == 0:
        return np.inf, np.inf
    margin = DEVIATIONS * np.sqrt(probability * (1.0 - probability) * n) + 2.0
    first, last = int(probability * (n - 1) - margin), int(np.ceil(probability * (n - 1) + margin))
    low = sample[first] if first >= 0 else -np.inf
    high = sample[last] if last < n else np.inf
    n_between = np.searchsorted(sample, high, side="right") - np.searchsorted(sample, low, side="left")
    if low < high and n_between > MOST_KEPT * n:
        low = high = sample[round(probability * (n - 1))]
    return float(low), float(high)


def _quantile(n: int, probability: float, below: int, between: list[Array]) -> float:
    """Return the quantile of n values, as `numpy.quantile` computes it; NaN if it is not between the values kept."""
    previous, following, fraction = ranks_of(n, probability)
    kept = np.concatenate(between)
    if previous < below or following >= below + len(kept):
        return np.nan
    ranks = [previous - below, following - below]
    low, high = np.partition(kept, ranks)[ranks]
    return interpolated(low, high, fraction)


def ranks_of(n: int, probability: float) -> tuple[int, int, float]:
    """Return the ranks of the two of n values that a quantile lies between, and how far it is from the first."""
    position = (n - 1) * probability
    previous = min(int(np.floor(position)), n - 1)
    return previous, min(previous + 1, n - 1), position - previous


def interpolated(low: float, high: float, fraction: float) -> float:
    """Return what lies between two values, as `numpy.quantile` computes it."""
    return float(low + (high - low) * fraction if fraction < 0.5 else high - (high - low) * (1.0 - fraction))


def is_no_sentinel(sample: Array, end: float) -> bool:
    """Whether a sorted sample proves that the end of a column is no sentinel, so that `sentinel_in` is not needed."""
    others = sample[sample != end]
    n = len(others)
    if np.count_nonzero(np.diff(others)) + 1 < FEWEST_OTHERS:
        return n > 0
    low, high = others[n // 4], others[3 * n // 4]
    return bool(np.abs(others - end).min() < NEAR * (high - low))
