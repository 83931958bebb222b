"""Exact quantiles of the columns of a long table, in a few passes and constant memory.

A quantile is interpolated between two order statistics. Each lies in a bracket that a sample of the rows suggests. One
pass counts the values below and inside a bracket and, if they are few, keeps those inside: the order statistic is
selected among them. If they are many, it counts them in 4,096 bins, one of which is the next bracket; the bins are
equal in the order of the floats, so six passes are enough for any column. A bracket that has missed is replaced by what
is left on that side. So the result is the same, to the last bit, as that of `numpy.quantile` of the whole column.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ipub.errors import IpubError
from ipub.numeric.rounding import Array
from ipub.tables.columns import bracket_of_sample, interpolated, ranks_of
from ipub.tables.interval_matrix import Indices

MOST_KEPT = 1 << 24
"""Values that one pass may keep (128 MiB): memory against a pass more."""
BIN_BITS = 12
"""Logarithm of the number of bins."""


@dataclass(frozen=True)
class Bracket:
    """Values of a column from `low` to `high`, ends included; those inside are kept, or counted in bins."""

    column: str
    low: float
    high: float
    keeps: bool

    @property
    def shift(self) -> int:
        """Logarithm of the width of a bin, in steps from float to float."""
        return max(0, (_key(self.high) - _key(self.low)).bit_length() - BIN_BITS)

    def bin(self, number: int) -> tuple[float, float]:
        """Return the ends of a bin."""
        first = _key(self.low) + (number << self.shift)
        last = first + (1 << self.shift) - 1
        return _value(first), min(_value(last), self.high) if last < _key(self.high) else self.high


class BracketCounts(NamedTuple):
    """What a piece has in a bracket."""

    below: int
    inside: int
    kept: Array
    """The values inside, if they are kept."""
    bins: Indices
    """How many are in each bin, if not."""


def count_in_brackets(columns: Mapping[str, Array], brackets: Sequence[Bracket]) -> list[BracketCounts]:
    """Count the values of a piece, NaN left out, in brackets."""
    return [_count(columns[bracket.column], bracket) for bracket in brackets]


def _count(values: Array, bracket: Bracket) -> BracketCounts:
    no_values, no_bins = np.zeros(0), np.zeros(0, dtype=np.intp)
    below = int(np.count_nonzero(values < bracket.low))
    is_inside = (values >= bracket.low) & (values <= bracket.high)
    n = int(np.count_nonzero(is_inside))
    if bracket.low == bracket.high:
        return BracketCounts(below, n, no_values, no_bins)
    inside = values[is_inside]
    if bracket.keeps:
        return BracketCounts(below, n, inside, no_bins)
    return BracketCounts(below, n, no_values, _bins(inside, bracket))


def _bins(values: Array, bracket: Bracket) -> Indices:
    """Count values in bins; keys of floats are subtracted modulo 2^64."""
    bits = (values + 0.0).view(np.int64)  # no -0.0
    keys = np.where(bits < 0, np.iinfo(np.int64).min - bits, bits).view(np.uint64)
    steps = (keys - np.uint64(_key(bracket.low) % 2**64)) >> np.uint64(bracket.shift)
    return np.bincount(steps.astype(np.intp), minlength=1 << BIN_BITS)


def _key(value: float) -> int:
    """Return a whole number for a float, in the order of the floats; neighbours have neighbouring numbers."""
    bits: int = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]
    return bits if bits >= 0 else -(2**63) - bits


def _value(key: int) -> float:
    """Return the float of a key."""
    value: float = struct.unpack("<d", struct.pack("<q", key if key >= 0 else -(2**63) - key))[0]
    return value


@dataclass(frozen=True, eq=False)
class ObservedColumn:
    """What is known of a column before its quantiles are searched for."""

    n: int
    """Number of observed values, positive."""
    least: float
    greatest: float
    sample: Array
    """Some of the values, sorted."""


@dataclass(frozen=True, eq=False)
class _Target:
    """One order statistic, and where it is known, or guessed, to be."""

    column: str
    rank: int
    low: float
    high: float
    n_inside: float
    """Number of values in the bracket, or an estimate."""
    value: float | None = None


MOST_PASSES = 20
"""More are never needed for a table that stays the same."""


class QuantileSearch:
    """The search for quantiles of several columns: `brackets` for the next pass, then `update` with its counts.

    A pass keeps at most `most_kept` values.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.arange(1001.0)
    >>> search = QuantileSearch({"a": ObservedColumn(1001, 0.0, 1000.0, values[::10])}, [0.05, 0.95])
    >>> while search.brackets():
    ...     search.update([count_in_brackets({"a": values}, search.brackets())])
    >>> search.quantiles("a")
    (50.0, 950.0)
    """

    def __init__(
        self, columns: Mapping[str, ObservedColumn], probabilities: Sequence[float], most_kept: int = MOST_KEPT
    ) -> None:
        self.columns, self.probabilities, self.most_kept = columns, probabilities, most_kept
        self._targets: dict[tuple[str, int], _Target] = {}
        self._passes = 0
        for name, column in columns.items():
            for probability in probabilities:
                low, high, share = _guess(column, probability)
                for rank in ranks_of(column.n, probability)[:2]:
                    self._targets.setdefault((name, rank), _Target(name, rank, low, high, share * column.n))

    def brackets(self) -> tuple[Bracket, ...]:
        """Return the brackets to count in; none if every quantile is known."""
        open_targets = [target for target in self._targets.values() if target.value is None]
        room = self.most_kept / max(1, len(open_targets))
        found = (Bracket(each.column, each.low, each.high, each.n_inside <= room) for each in open_targets)
        return tuple(dict.fromkeys(found))

    def update(self, pieces: Iterable[Sequence[BracketCounts]]) -> None:
        """Take the counts of all pieces, in the order of `brackets`.

        Raises IpubError if the counts of the passes do not belong together.
        """
        self._passes += 1
        if self._passes > MOST_PASSES:
            raise IpubError("The table has changed while it was read: leave it as it is, and call fit again.")
        brackets = self.brackets()
        below, inside = [0] * len(brackets), [0] * len(brackets)
        kept: list[list[Array]] = [[np.zeros(0)] for _ in brackets]
        bins: list[Indices] = [np.zeros(1 << BIN_BITS, dtype=np.intp) for _ in brackets]
        for piece in pieces:
            for k, counts in enumerate(piece):
                below[k] += counts.below
                inside[k] += counts.inside
                kept[k].append(counts.kept)
                if len(counts.bins):
                    bins[k] += counts.bins
        number = {(bracket.column, bracket.low, bracket.high): k for k, bracket in enumerate(brackets)}
        for key, target in self._targets.items():
            if target.value is None:
                k = number[target.column, target.low, target.high]
                values = np.concatenate(kept[k])
                self._targets[key] = self._narrowed(target, brackets[k], below[k], inside[k], values, bins[k])

    def _narrowed(
        self, target: _Target, bracket: Bracket, below: int, inside: int, kept: Array, bins: Indices
    ) -> _Target:
        column, rank = self.columns[target.column], target.rank
        if rank < below:
            return replace(target, low=column.least, high=_value(_key(bracket.low) - 1), n_inside=below)
        if rank >= below + inside:
            left = column.n - below - inside
            return replace(target, low=_value(_key(bracket.high) + 1), high=column.greatest, n_inside=left)
        if bracket.low == bracket.high:
            return replace(target, value=bracket.low)
        if bracket.keeps:
            return replace(target, value=float(np.partition(kept, rank - below)[rank - below]))
        ends = np.cumsum(bins)
        number = int(np.searchsorted(ends, rank - below, side="right"))
        low, high = bracket.bin(number)
        return replace(target, low=low, high=high, n_inside=int(bins[number]))

    def quantiles(self, name: str) -> tuple[float, ...]:
        """Return the quantiles of a column, once there are no more brackets."""
        found = []
        for probability in self.probabilities:
            previous, following, fraction = ranks_of(self.columns[name].n, probability)
            low, high = (self._targets[name, rank].value for rank in (previous, following))
            assert low is not None
            assert high is not None
            found.append(interpolated(low, high, fraction))
        return tuple(found)


def _guess(column: ObservedColumn, probability: float) -> tuple[float, float, float]:
    """Return a bracket by the sample, within the range of the column, and the fraction of the values in it."""
    if len(column.sample) == 0:
        return column.least, column.greatest, 1.0
    low, high = bracket_of_sample(column.sample, probability)
    low, high = max(low, column.least), min(high, column.greatest)
    n = np.searchsorted(column.sample, high, side="right") - np.searchsorted(column.sample, low, side="left")
    return float(low), float(high), float(n) / len(column.sample)
