"""NumPy's functions that make, choose, join, sort or add entries, on arrays of another library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ipub.errors import IpubError
from ipub.rows.device.array import DeviceArray
from ipub.rows.device.libraries import Library
from ipub.rows.device.sums import PIECE, counts, repeated

FLOAT = np.dtype(np.float64)


class NotKnown(IpubError):
    """What was asked for is left to NumPy."""

    def __init__(self) -> None:
        super().__init__("NumPy computes this in memory.")


def _array(library: Library, value: Any, dtype: np.dtype[Any] | None = None) -> DeviceArray:
    """Return anything as an array on the device."""
    if isinstance(value, DeviceArray):
        return value if dtype is None else value.astype(dtype, copy=False)
    return DeviceArray(library.array(value, dtype), library)


def _common(library: Library, values: Sequence[Any]) -> list[DeviceArray]:
    """Return arrays on the device of one type of numbers."""
    dtype = np.result_type(*(each.dtype if isinstance(each, DeviceArray) else np.asarray(each) for each in values))
    return [_array(library, each, dtype) for each in values]


# --- new arrays ------------------------------------------------------------------------------------


def _full(library: Library, shape: Any, value: Any, dtype: Any) -> DeviceArray:
    kind = FLOAT if dtype is None else np.dtype(dtype)
    data = library.xp.full(_lengths(shape), kind.type(value).item(), dtype=library.kind(kind), device=library.device)
    return DeviceArray(data, library)


def _lengths(shape: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in shape) if np.ndim(shape) else (int(shape),)


def _empty(library: Library, shape: Any, dtype: Any = None, **_: Any) -> DeviceArray:
    kind = library.kind(FLOAT if dtype is None else np.dtype(dtype))
    return DeviceArray(library.xp.empty(_lengths(shape), dtype=kind, device=library.device), library)


def _filled(value: float) -> Callable[..., DeviceArray]:
    """Return what makes an array of one value, as `zeros` and `ones` do."""
    return lambda library, shape, dtype=None, **_: _full(library, shape, value, dtype)


def _full_of(library: Library, shape: Any, value: Any, dtype: Any = None, **_: Any) -> DeviceArray:
    return _full(library, shape, value, np.asarray(value).dtype if dtype is None else dtype)


def _arange(library: Library, n: Any, dtype: Any = None, **_: Any) -> DeviceArray:
    kind = library.kind(np.dtype(np.int64 if dtype is None else dtype))
    return DeviceArray(library.xp.arange(int(n), dtype=kind, device=library.device), library)


def _copied(library: Library, values: Any, dtype: Any = None, **_: Any) -> DeviceArray:
    return _array(library, np.array(values, dtype=dtype))


def _filled_like(value: float) -> Callable[..., DeviceArray]:
    """Return what makes an array of one value in the shape of another, as `zeros_like` and `ones_like` do."""
    return lambda library, values, dtype=None: _full_like(library, values, value, dtype)


def _full_like(library: Library, values: DeviceArray, value: Any, dtype: Any = None) -> DeviceArray:
    return _full(library, values.shape, value, values.dtype if dtype is None else dtype)


# --- choosing --------------------------------------------------------------------------------------


def _where(library: Library, condition: Any, *choices: Any) -> Any:
    if len(choices) != 2:
        raise NotKnown
    a, b = choices
    dtype = np.result_type(*(_type(each) for each in (a, b)))
    given = [_choice(library, each, dtype) for each in (a, b)]
    if all(np.ndim(each) == 0 for each in (a, b)):
        given[0] = library.xp.asarray(given[0], dtype=library.kind(dtype), device=library.device)
    chosen = _array(library, condition)
    chosen = chosen if chosen.dtype.kind == "b" else chosen != 0
    return DeviceArray(library.xp.where(chosen.data, *given), library)


def _type(value: Any) -> Any:
    if isinstance(value, (bool, int, float)):
        return np.asarray(value).dtype
    return value.dtype if isinstance(value, (DeviceArray, np.ndarray, np.generic)) else np.asarray(value).dtype


def _choice(library: Library, value: Any, dtype: np.dtype[Any]) -> Any:
    if not isinstance(value, DeviceArray) and np.ndim(value) == 0:
        return library.number(value, dtype)
    return _array(library, value, dtype).data


def _clip(_: Library, values: Any, low: Any = None, high: Any = None, **kwargs: Any) -> Any:
    if kwargs:
        raise NotKnown
    values = values if low is None else np.maximum(values, low)
    return values if high is None else np.minimum(values, high)


def _nan_to_num(
    library: Library, values: DeviceArray, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> DeviceArray:
    greatest = float(np.finfo(np.float64).max)
    high, low = greatest if posinf is None else posinf, -greatest if neginf is None else neginf
    result = _where(library, np.isnan(values), float(nan), values)
    result = _where(library, values == np.inf, float(high), result)
    found: DeviceArray = _where(library, values == -np.inf, float(low), result)
    return found


def _flatnonzero(library: Library, values: Any) -> DeviceArray:
    values = _array(library, values)
    return DeviceArray(library.xp.nonzero(values.ravel().data)[0], library)


def _nonzero(library: Library, values: DeviceArray) -> tuple[DeviceArray, ...]:
    return tuple(DeviceArray(part, library) for part in library.xp.nonzero(values.data))


def _count_nonzero(library: Library, values: DeviceArray, axis: Any = None) -> Any:
    is_there = values if values.dtype.kind == "b" else values != 0
    count = library.xp.sum(library.xp.astype(is_there.data, library.xp.int64), axis=axis)
    return int(count) if axis is None else DeviceArray(count, library)


def _take_along_axis(library: Library, values: Any, index: Any, axis: int) -> DeviceArray:
    data = library.xp.take_along_axis(_array(library, values).data, _array(library, index).data, axis=axis)
    return DeviceArray(data, library)


def _diag(_: Library, values: DeviceArray, k: int = 0) -> DeviceArray:
    if k or values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise NotKnown
    return values.reshape(-1)[:: values.shape[0] + 1]


# --- joining ---------------------------------------------------------------------------------------


def _concatenate(library: Library, parts: Sequence[Any], axis: int = 0) -> DeviceArray:
    arrays = _common(library, list(parts))
    return DeviceArray(library.xp.concat([each.data for each in arrays], axis=axis), library)


def _column_stack(library: Library, parts: Sequence[Any]) -> DeviceArray:
    columns = [each if each.ndim == 2 else each.reshape(-1, 1) for each in _common(library, list(parts))]
    return _concatenate(library, columns, axis=1)


def _stack(library: Library, parts: Sequence[Any], axis: int = 0) -> DeviceArray:
    return DeviceArray(library.xp.stack([each.data for each in _common(library, list(parts))], axis=axis), library)


def _split(_: Library, values: DeviceArray, sections: Any, axis: int = 0) -> list[DeviceArray]:
    if axis or not isinstance(sections, int):
        raise NotKnown
    step = len(values) // sections
    return [values[k * step : (k + 1) * step] for k in range(sections)]


def _tile(library: Library, values: Any, times: Any) -> DeviceArray:
    return DeviceArray(library.xp.tile(_array(library, values).data, tuple(np.atleast_1d(times).tolist())), library)


def _broadcast_to(library: Library, values: DeviceArray, shape: Any) -> DeviceArray:
    return DeviceArray(library.xp.broadcast_to(values.data, tuple(int(n) for n in shape)), library)


# --- sorting and counting --------------------------------------------------------------------------


def _argsort(library: Library, values: DeviceArray, axis: int = -1, kind: Any = None) -> DeviceArray:  # noqa: ARG001
    return DeviceArray(library.xp.argsort(values.data, axis=axis, stable=True), library)


def _sort(library: Library, values: DeviceArray, axis: int = -1, **_: Any) -> DeviceArray:
    """Sort; a NaN comes last, as in NumPy."""
    return DeviceArray(library.xp.sort(values.data, axis=axis), library)


def _lexsort(library: Library, keys: Sequence[Any]) -> DeviceArray:
    order: Any = None
    for key in keys:
        values = _array(library, key)
        order = _argsort(library, values) if order is None else order[_argsort(library, values[order])]
    found: DeviceArray = order
    return found


def _partition(library: Library, values: DeviceArray, kth: Any, axis: int = -1) -> DeviceArray:  # noqa: ARG001
    """Sort: a partition is any order with the right entry in its place; a NaN is the greatest."""
    xp = library.xp
    if values.dtype.kind != "f":
        return DeviceArray(xp.sort(values.data, axis=axis), library)
    # Not every library says where a NaN goes: it counts as infinite while entries are ordered.
    key = xp.where(xp.isnan(values.data), xp.asarray(np.inf, dtype=xp.float64, device=library.device), values.data)
    order = xp.argsort(key, axis=axis, stable=True)
    return DeviceArray(xp.take_along_axis(values.data, order, axis=axis), library)


def _searchsorted(library: Library, ordered: Any, values: Any, side: str = "left") -> DeviceArray:
    arrays = _common(library, [ordered, values])
    return DeviceArray(library.xp.searchsorted(arrays[0].data, arrays[1].data, side=side), library)


def _cumsum(library: Library, values: DeviceArray, axis: int | None = None) -> DeviceArray:
    if values.dtype.kind == "f" or (axis is None and values.ndim > 1):
        raise NotKnown  # the height of a running sum is not known
    whole = values.astype(np.int64, copy=False)
    return DeviceArray(library.xp.cumulative_sum(whole.data, axis=axis), library)


def _repeat(library: Library, values: Any, times: Any, axis: int | None = None) -> DeviceArray:
    if axis is not None or np.ndim(times) != 1:
        raise NotKnown
    found = repeated(library, _array(library, values).data, _array(library, times).data)
    return DeviceArray(found, library)


def _bincount(library: Library, index: DeviceArray, weights: Any = None, minlength: int = 0) -> DeviceArray:
    index = _array(library, index)
    if weights is None:
        return DeviceArray(counts(library, index.data, int(minlength)), library)
    values = _array(library, weights, FLOAT)
    if not minlength:
        minlength = int(index.max()) + 1 if len(index) else 0
    return DeviceArray(index.groups(int(minlength)).sums(values.data), library)


def _einsum(_: Library, pattern: str, *operands: Any, **__: Any) -> Any:
    if pattern in ("...j,...j->...", "ij,ij->i"):
        first, second = operands
        products = first * second
        # Along rows of a table, which are apart in memory, a product with ones is faster than a sum.
        is_long = products.ndim == 2 and products.shape[1] > PIECE
        return products @ np.ones(products.shape[1], like=products) if is_long else products.sum(axis=-1)
    if pattern == "igj,ij->ig":
        first, second = operands
        return (first * second[:, None, :]).sum(axis=-1)
    raise NotKnown


# --- methods as functions --------------------------------------------------------------------------


def _method(name: str) -> Callable[..., Any]:
    def call(library: Library, values: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(_array(library, values), name)(*args, **kwargs)

    return call


def _attribute(name: str) -> Callable[..., Any]:
    return lambda _, values: getattr(values, name)


def _reshape(_: Library, values: DeviceArray, shape: Any) -> DeviceArray:
    return values.reshape(tuple(np.atleast_1d(shape).tolist()))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "zeros": _filled(0),
    "empty": _empty,
    "ones": _filled(1),
    "full": _full_of,
    "arange": _arange,
    "array": _copied,
    "zeros_like": _filled_like(0),
    "empty_like": _filled_like(0),
    "ones_like": _filled_like(1),
    "full_like": _full_like,
    "where": _where,
    "clip": _clip,
    "nan_to_num": _nan_to_num,
    "flatnonzero": _flatnonzero,
    "nonzero": _nonzero,
    "count_nonzero": _count_nonzero,
    "take_along_axis": _take_along_axis,
    "diag": _diag,
    "concatenate": _concatenate,
    "column_stack": _column_stack,
    "stack": _stack,
    "split": _split,
    "tile": _tile,
    "broadcast_to": _broadcast_to,
    "argsort": _argsort,
    "sort": _sort,
    "lexsort": _lexsort,
    "partition": _partition,
    "searchsorted": _searchsorted,
    "cumsum": _cumsum,
    "repeat": _repeat,
    "bincount": _bincount,
    "einsum": _einsum,
    **{name: _method(name) for name in ("sum", "mean", "max", "min", "any", "all", "argmax", "argmin", "ravel")},
    **{name: _attribute(name) for name in ("shape", "ndim", "size")},
    "reshape": _reshape,
}
"""Functions by NumPy's names."""
