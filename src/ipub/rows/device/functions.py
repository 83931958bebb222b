"""NumPy's functions on arrays of another library: two tables, and NumPy itself for everything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ipub.rows.device.array import DeviceArray
from ipub.rows.device.libraries import Library
from ipub.rows.device.rearranging import FUNCTIONS, NotKnown
from ipub.rows.device.sums import product
from ipub.rows.device.transfer import to_host

FLOAT = np.dtype(np.float64)


def apply_ufunc(library: Library, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply an elementwise function, or the product of matrices."""
    if method == "__call__" and not kwargs:
        if ufunc is np.matmul:
            return DeviceArray(product(library, *(_as_floats(library, each) for each in inputs)), library)
        known = ELEMENTWISE.get(ufunc.__name__)
        if known is not None:
            return DeviceArray(known(library, *_aligned(library, ufunc.__name__, inputs)), library)
    if method == "reduce" and ufunc is np.add and not kwargs.keys() - {"axis"}:
        return inputs[0].sum(axis=kwargs.get("axis", 0))
    if method == "reduceat" and ufunc is np.add and not kwargs:
        return _reduceat(library, *inputs)
    return getattr(ufunc, method)(*to_host(inputs), **to_host_values(kwargs))


def apply_function(library: Library, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply any other function of NumPy."""
    known = FUNCTIONS.get(function.__name__)
    if known is not None and getattr(np, function.__name__, None) is function:
        try:
            return known(library, *args, **kwargs)
        except NotKnown:
            pass
    kwargs = {name: value for name, value in kwargs.items() if name != "like"}
    return function(*to_host(args), **to_host_values(kwargs))


def to_host_values(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return keyword arguments with arrays in the memory of this process."""
    return {name: to_host(value) for name, value in kwargs.items()}


def _as_floats(library: Library, value: Any) -> Any:
    """Return a factor of a product of matrices on the device."""
    if isinstance(value, DeviceArray):
        return value.astype(FLOAT, copy=False).data
    return library.array(value, FLOAT)


def _aligned(library: Library, name: str, inputs: tuple[Any, ...]) -> list[Any]:
    """Return arrays on the device, and numbers, of the type that NumPy would compute with."""
    kinds = [_weak_type(each) for each in inputs]
    dtype = np.result_type(*kinds)
    if name in FLOATING and dtype.kind != "f":
        dtype = FLOAT
    arrays: list[Any] = []
    for each in inputs:
        if isinstance(each, DeviceArray):
            arrays.append(each.astype(dtype, copy=False).data)
        elif np.ndim(each) == 0:
            arrays.append(library.number(each, dtype))
        else:
            arrays.append(library.array(each, dtype))
    return arrays


def _weak_type(value: Any) -> Any:
    """Return what decides the type of a result: Python's own numbers only say of which kind they are."""
    if isinstance(value, (bool, int, float)):
        return value
    return value.dtype if isinstance(value, (DeviceArray, np.ndarray, np.generic)) else np.asarray(value).dtype


def _reduceat(library: Library, values: DeviceArray, starts: Any) -> Any:
    """Add up consecutive values along the first axis, from each of the starts to the next."""
    ends = np.append(np.asarray(starts)[1:], len(values))
    lengths = ends - np.asarray(starts)
    if (lengths <= 0).any() or int(np.asarray(starts)[0]) != 0:
        return np.add.reduceat(values.host(), np.asarray(starts))
    index = DeviceArray(library.array(np.repeat(np.arange(len(lengths)), lengths)), library)
    return values.like(index.groups(len(lengths)).sums(values.data))


FLOATING = frozenset({"sqrt", "exp", "log", "log1p", "divide", "expit", "xlogy", "xlog1py", "hypot"})
"""Functions whose result is a float whatever they are given."""


def _plain(name: str) -> Callable[..., Any]:
    """Return a function of the array API of the same name."""
    return lambda library, *args: getattr(library.xp, name)(*args)


def _passing_over(library: Library, name: str, a: Any, b: Any) -> Any:
    """Take the other where one is NaN."""
    xp = library.xp
    a, b = (xp.asarray(each, dtype=xp.float64, device=library.device) for each in (a, b))
    best = getattr(xp, name)(a, b)
    return xp.where(xp.isnan(a), b, xp.where(xp.isnan(b), a, best))


def _xlogy(library: Library, x: Any, y: Any) -> Any:
    xp = library.xp
    return xp.where(x == 0.0, x * 0.0, x * xp.log(xp.where(x == 0.0, y * 0.0 + 1.0, y)))


def _xlog1py(library: Library, x: Any, y: Any) -> Any:
    xp = library.xp
    return xp.where(x == 0.0, x * 0.0, x * xp.log1p(xp.where(x == 0.0, y * 0.0, y)))


def _power(library: Library, x: Any, exponent: Any) -> Any:
    is_number = not getattr(exponent, "shape", ())
    return x * x if is_number and float(exponent) == 2.0 else library.xp.pow(x, exponent)


def _sign(library: Library, x: Any) -> Any:
    xp = library.xp
    return xp.where(x != x, x, xp.sign(x))


ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "add": lambda _, a, b: a + b,
    "subtract": lambda _, a, b: a - b,
    "multiply": lambda _, a, b: a * b,
    "divide": lambda _, a, b: a / b,
    "floor_divide": lambda _, a, b: a // b,
    "remainder": lambda _, a, b: a % b,
    "negative": lambda _, a: -a,
    "positive": lambda _, a: a,
    "power": _power,
    "equal": lambda _, a, b: a == b,
    "not_equal": lambda _, a, b: a != b,
    "less": lambda _, a, b: a < b,
    "less_equal": lambda _, a, b: a <= b,
    "greater": lambda _, a, b: a > b,
    "greater_equal": lambda _, a, b: a >= b,
    "bitwise_and": lambda _, a, b: a & b,
    "bitwise_or": lambda _, a, b: a | b,
    "invert": lambda _, a: ~a,
    "absolute": _plain("abs"),
    **{name: _plain(name) for name in ("sqrt", "exp", "log", "log1p", "maximum", "minimum", "floor", "ceil", "hypot")},
    **{name: _plain(name) for name in ("isnan", "isinf", "isfinite", "signbit", "copysign")},
    "fmax": lambda library, a, b: _passing_over(library, "maximum", a, b),
    "fmin": lambda library, a, b: _passing_over(library, "minimum", a, b),
    "sign": _sign,
    "expit": lambda library, t: 1.0 / (1.0 + library.xp.exp(-t)),
    "xlogy": _xlogy,
    "xlog1py": _xlog1py,
}
"""Elementwise functions by NumPy's, or SciPy's, names."""


DeviceArray.apply_ufunc, DeviceArray.apply_function = staticmethod(apply_ufunc), staticmethod(apply_function)
