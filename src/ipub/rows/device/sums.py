"""Sums on a device: in pieces, so that their height is known, and in a fixed order, so that bits repeat.

A library may add a piece in any order it likes (fp-device). Sums by index are not left to functions that add by atomic
operations, whose order differs from call to call: values are put in place, and pieces of them added.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from ipub.rows.device.libraries import Library

PIECE = 4096
"""Terms of a sum over rows that are added in any order; then the sums of such pieces are."""

GROUP_PIECE = 512
"""Values of one index that are added in one piece."""

MOST_TURNS = 16
"""Values of one index that are added one after the other, at most."""


def sum_height(n_terms: int) -> int:
    """Bound the height of a sum of so many terms by `total`, `product` or `Groups.sums` (fp-device)."""
    levels, most = 0, n_terms
    while most > MOST_TURNS:
        levels, most = levels + 1, -(-most // GROUP_PIECE)
    by_index = levels * GROUP_PIECE + MOST_TURNS
    return min(n_terms, max(PIECE + -(-n_terms // PIECE) + 1, by_index))


def total(library: Library, data: Any, axis: Any, keepdims: bool = False) -> Any:
    """Return the sum along an axis, in pieces if that is long."""
    xp = library.xp
    if axis is None:
        data, axis = xp.reshape(data, (-1,)), 0
    if isinstance(axis, tuple):
        return xp.sum(data, axis=axis, keepdims=keepdims)
    axis %= data.ndim
    n = data.shape[axis]
    if n <= PIECE:
        return xp.sum(data, axis=axis, keepdims=keepdims)
    if keepdims:
        return xp.expand_dims(total(library, data, axis), axis=axis)
    whole = n - n % PIECE
    before, after = data.shape[:axis], data.shape[axis + 1 :]
    start = (slice(None),) * axis
    pieces = xp.reshape(data[(*start, slice(0, whole), ...)], (*before, whole // PIECE, PIECE, *after))
    result = xp.sum(xp.sum(pieces, axis=axis + 1), axis=axis)
    return result if whole == n else result + xp.sum(data[(*start, slice(whole, n), ...)], axis=axis)


def extreme(library: Library, name: str, data: Any, axis: Any, keepdims: bool = False) -> Any:
    """Return the greatest or the least along an axis; down the rows of a table in pieces, which is faster."""
    take = getattr(library.xp, name)
    n = data.shape[0]
    if axis != 0 or keepdims or data.ndim != 2 or n <= PIECE:
        return take(data, axis=axis, keepdims=keepdims)
    whole = n - n % PIECE
    pieces = library.xp.reshape(data[:whole, :], (whole // PIECE, PIECE, data.shape[1]))
    found = [take(take(pieces, axis=1), axis=0)]
    if whole < n:
        found.append(take(data[whole:, :], axis=0))
    return take(library.xp.stack(found), axis=0)


def product(library: Library, a: Any, b: Any) -> Any:
    """Return the matrix product, in pieces if its sums are long."""
    xp, n = library.xp, a.shape[-1]
    if n <= PIECE:
        return xp.matmul(a, b)
    if a.ndim == 1:
        return product(library, a[None, :], b)[0, ...]
    if b.ndim == 1:
        return product(library, a, b[:, None])[..., 0]
    whole = n - n % PIECE
    # Cut along the long axis where it comes first in memory: nothing is copied.
    left = xp.matrix_transpose(a)[..., :whole, :]
    left = xp.reshape(left, (*left.shape[:-2], whole // PIECE, PIECE, left.shape[-1]))
    right = b[..., :whole, :]
    right = xp.reshape(right, (*right.shape[:-2], whole // PIECE, PIECE, right.shape[-1]))
    result = xp.sum(xp.matmul(xp.matrix_transpose(left), right), axis=-3)
    return result if whole == n else result + xp.matmul(a[..., whole:], b[..., whole:, :])


@dataclass(frozen=True)
class _Pieces:
    """Where sorted values go so that each piece has those of one index, and which index that is."""

    places: Any
    n_pieces: int
    index: Any


@dataclass(frozen=True)
class _Turns:
    """Values of which no two have the same index: their numbers, and their indices."""

    which: Any
    index: Any


@dataclass(frozen=True)
class Groups:
    """How values are added up by their index: first in pieces, then one after the other."""

    library: Library
    n: int
    order: Any
    """Sorts the values by index; None if they are sorted."""
    pieces: tuple[_Pieces, ...]
    turns: tuple[_Turns, ...]

    @classmethod
    def of(cls, library: Library, index: Any, n: int) -> Groups:
        """Sort an index, from 0 to n - 1."""
        xp = library.xp
        order = None
        if index.shape[0] > 1 and not bool(xp.all(index[1:] >= index[:-1])):
            order = xp.argsort(index, stable=True)
            index = xp.take(index, order)
        pieces = []
        number, longest = _numbers(library, index)
        while longest > MOST_TURNS:
            # Value k of an index goes to piece k // GROUP_PIECE of that index.
            first = number % GROUP_PIECE == 0
            piece = xp.cumulative_sum(xp.astype(first, xp.int64)) - 1
            places = piece * GROUP_PIECE + number % GROUP_PIECE
            index = index[first]
            pieces.append(_Pieces(places, index.shape[0], index))
            number, longest = _numbers(library, index)
        turns = []
        for turn in range(longest):
            which = xp.nonzero(number == turn)[0]
            turns.append(_Turns(which, xp.take(index, which)))
        return cls(library, n, order, tuple(pieces), tuple(turns))

    def sums(self, values: Any) -> Any:
        """Return the sums of values, along the first axis, for each index."""
        library, xp = self.library, self.library.xp
        if self.order is not None:
            values = xp.take(values, self.order, axis=0)
        others = values.shape[1:]
        for each in self.pieces:
            placed = xp.zeros((each.n_pieces * GROUP_PIECE, *others), dtype=values.dtype, device=library.device)
            placed = put(library, placed, each.places, values)
            values = xp.sum(xp.reshape(placed, (each.n_pieces, GROUP_PIECE, *others)), axis=1)
        result = xp.zeros((self.n, *others), dtype=values.dtype, device=library.device)
        for number, turn in enumerate(self.turns):
            part = values if len(self.turns) == 1 else xp.take(values, turn.which, axis=0)
            if number:
                part = xp.take(result, turn.index, axis=0) + part
            result = put(library, result, turn.index, part)
        return result


def _numbers(library: Library, index: Any) -> tuple[Any, int]:
    """Return which value of its index each of sorted ones is, counted from 0, and how many an index has at most."""
    xp, m = library.xp, index.shape[0]
    every = xp.arange(m, dtype=xp.int64, device=library.device)
    if m == 0:
        return every, 0
    number = every - xp.searchsorted(index, index)
    return number, int(xp.max(number)) + 1


def put(library: Library, data: Any, places: Any, values: Any) -> Any:
    """Write values to places along the first axis, no place twice; return the array, which may be a new one."""
    if library.writes_places:
        data[places] = values
        return data
    host = library.numpy(data)
    host[library.numpy(places)] = values if isinstance(values, (int, float)) else library.numpy(values)
    return library.array(host)


def counts(library: Library, index: Any, n: int) -> Any:
    """Return how often each number from 0 to n - 1 occurs, or up to the greatest if that is more."""
    xp = library.xp
    if index.shape[0] == 0:
        return xp.zeros(n, dtype=xp.int64, device=library.device)
    if library.name != "array_api_strict":  # whole numbers are added exactly, in whatever order
        return sys.modules[library.name].bincount(index, minlength=n)
    n = max(n, int(xp.max(index)) + 1)
    ends = xp.searchsorted(xp.sort(index), xp.arange(n + 1, dtype=index.dtype, device=library.device))
    return xp.astype(ends[1:] - ends[:-1], xp.int64)


def repeated(library: Library, data: Any, times: Any) -> Any:
    """Repeat each entry of a vector so many times."""
    xp = library.xp
    ends = xp.cumulative_sum(xp.astype(times, xp.int64))
    n = int(ends[-1]) if ends.shape[0] else 0
    every = xp.arange(n, dtype=xp.int64, device=library.device)
    return xp.take(data, xp.searchsorted(ends, every, side="right"), axis=0)
