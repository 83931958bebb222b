"""An array on a device that behaves like NumPy's."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from ipub.rows.device.libraries import Library, library_of, stepped
from ipub.rows.device.sums import Groups, extreme, total


class DeviceArray(NDArrayOperatorsMixin):
    """An array of another library, which is not copied, for code that is written for NumPy.

    Examples
    --------
    >>> import array_api_strict, numpy as np
    >>> x = DeviceArray(array_api_strict.asarray([1.0, 4.0]))
    >>> float(np.sqrt(x).sum())
    3.0
    """

    __slots__ = ("_dtype", "_groups", "data", "library")

    def __init__(self, data: Any, library: Library | None = None) -> None:
        self.data = data
        self.library = library_of(data) if library is None else library
        self._dtype: np.dtype[Any] | None = None
        self._groups: dict[int, Groups] = {}

    # --- what it is --------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths along its axes."""
        return tuple(self.data.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return int(self.data.ndim)

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's name for its type of numbers."""
        if self._dtype is None:
            self._dtype = self.library.dtype_of(self.data)
        return self._dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"DeviceArray({self.library.name}, shape={self.shape}, dtype={self.dtype})"

    def host(self) -> NDArray[Any]:
        """Return a copy in the memory of this process."""
        return self.library.numpy(self.data)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        values = self.host()
        return values if dtype is None else values.astype(dtype, copy=False)

    def item(self) -> Any:
        """Return the one entry as a Python number."""
        return self.host().item()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.ndim:
            raise TypeError("Only an array of no dimension is an index; NumPy would take one of length 1 for a number.")
        return operator.index(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __iter__(self) -> Iterator[DeviceArray]:
        return (self[k] for k in range(len(self)))

    def like(self, data: Any) -> DeviceArray:
        """Return an array of the same library."""
        return DeviceArray(data, self.library)

    def groups(self, n: int) -> Groups:
        """Return how values are added up by this index, from 0 to n - 1: sorted once, as an index is used again."""
        if n not in self._groups:
            self._groups[n] = Groups.of(self.library, self.data, n)
        return self._groups[n]

    # --- NumPy's protocols -------------------------------------------------------------------------

    apply_ufunc: ClassVar[Callable[..., Any]]
    apply_function: ClassVar[Callable[..., Any]]
    """Set by `ipub.rows.device.functions`, which knows NumPy's functions."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        result = DeviceArray.apply_ufunc(self.library, ufunc, method, inputs, kwargs)
        if out is None:
            return result
        (target,) = out
        if isinstance(target, DeviceArray):
            target[...] = result
        else:
            target[...] = np.asarray(result)
        return target

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return DeviceArray.apply_function(self.library, function, args, kwargs)

    # --- operators: the short way for floats, of which there are many -------------------------------

    def _operand(self, other: Any) -> Any:
        """Return the other operand as the library takes it, or None where the types of both must be compared."""
        if type(other) is DeviceArray:
            return other.data if other.dtype == self.dtype else None
        return other if type(other) is float and self.dtype.kind == "f" else None

    def __add__(self, other: Any) -> Any:
        operand = self._operand(other)
        return np.add(self, other) if operand is None else self.like(self.data + operand)

    def __sub__(self, other: Any) -> Any:
        operand = self._operand(other)
        return np.subtract(self, other) if operand is None else self.like(self.data - operand)

    def __rsub__(self, other: Any) -> Any:
        operand = self._operand(other)
        return np.subtract(other, self) if operand is None else self.like(operand - self.data)

    def __mul__(self, other: Any) -> Any:
        operand = self._operand(other)
        return np.multiply(self, other) if operand is None else self.like(self.data * operand)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Any:
        return self.like(-self.data)

    def __abs__(self) -> Any:
        return self.like(self.library.xp.abs(self.data))

    def __iadd__(self, other: Any) -> Any:
        return self._changed(operator.iadd, np.add, other)

    def __isub__(self, other: Any) -> Any:
        return self._changed(operator.isub, np.subtract, other)

    def __imul__(self, other: Any) -> Any:
        return self._changed(operator.imul, np.multiply, other)

    def _changed(self, operation: Callable[[Any, Any], Any], ufunc: Any, other: Any) -> DeviceArray:
        operand = self._operand(other)
        if operand is None or (type(other) is DeviceArray and other.shape != self.shape):
            self[...] = ufunc(self, other)
        else:
            self.data = operation(self.data, operand)
        return self

    def rounded_up(self) -> DeviceArray:
        """Return ``x + (|x| EPS + TINY)``: `ipub.numeric.rounding.up` in one go."""
        return self.like(stepped(self.library, self.data, "+"))

    def rounded_down(self) -> DeviceArray:
        """Return ``x - (|x| EPS + TINY)``: `ipub.numeric.rounding.down` in one go."""
        return self.like(stepped(self.library, self.data, "-"))

    # --- shape -------------------------------------------------------------------------------------

    @property
    def T(self) -> DeviceArray:
        """The transposed array."""
        return self.transpose()

    def transpose(self, *axes: int) -> DeviceArray:
        """Return the array with its axes in another order, the reverse one if none is given."""
        if self.ndim < 2:
            return self
        order = axes or tuple(reversed(range(self.ndim)))
        return self.like(self.library.xp.permute_dims(self.data, order))

    def reshape(self, *shape: Any) -> DeviceArray:
        """Return the array in another shape."""
        lengths = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        known = int(np.prod([n for n in lengths if n >= 0], dtype=np.int64))
        full = tuple(int(n) if n >= 0 else (self.size // known if known else 0) for n in lengths)
        return self.like(self.library.xp.reshape(self.data, full))

    def ravel(self) -> DeviceArray:
        """Return the entries as a vector."""
        return self.reshape(-1)

    def copy(self) -> DeviceArray:
        """Return a copy on the device, contiguous."""
        xp = self.library.xp
        copied = self.data.contiguous() if self.library.name == "torch" else self.data
        return self.like(xp.asarray(copied, copy=True) if copied is self.data else copied)

    def astype(self, dtype: Any, copy: bool = True) -> DeviceArray:
        """Return the array with another type of numbers; the same array if nothing changes and no copy is wanted."""
        wanted = np.dtype(dtype)
        if wanted == self.dtype and not copy:
            return self
        return self.like(self.library.xp.astype(self.data, self.library.kind(wanted), copy=copy))

    # --- sums and the like -------------------------------------------------------------------------

    def sum(self, axis: Any = None, keepdims: bool = False) -> DeviceArray:
        """Return sums along an axis."""
        data = self.data if self.dtype.kind == "f" else self.astype(np.int64, copy=False).data
        return self.like(total(self.library, data, axis, keepdims))

    def mean(self, axis: Any = None, keepdims: bool = False) -> Any:
        """Return means along an axis."""
        n = self.size if axis is None else self.shape[axis]
        return self.sum(axis, keepdims) / float(n)

    def max(self, axis: Any = None, initial: float | None = None, keepdims: bool = False) -> Any:
        """Return the greatest entry along an axis; a NaN is the greatest."""
        return self._extreme("max", axis, initial, keepdims)

    def min(self, axis: Any = None, initial: float | None = None, keepdims: bool = False) -> Any:
        """Return the least entry along an axis; a NaN is the least."""
        return self._extreme("min", axis, initial, keepdims)

    def _extreme(self, name: str, axis: Any, initial: float | None, keepdims: bool) -> Any:
        if initial is None:
            return self.like(extreme(self.library, name, self.data, axis, keepdims))
        lengths = self.shape if axis is None else (self.shape[axis],)
        if 0 in lengths:
            return getattr(self.host(), name)(axis=axis, initial=initial)
        found = self.like(extreme(self.library, name, self.data, axis))
        return np.maximum(found, initial) if name == "max" else np.minimum(found, initial)

    def any(self, axis: Any = None) -> DeviceArray:
        """Return whether any entry along an axis is not zero."""
        return self.like(self.library.xp.any(self.data, axis=axis))

    def all(self, axis: Any = None) -> DeviceArray:
        """Return whether every entry along an axis is not zero."""
        return self.like(self.library.xp.all(self.data, axis=axis))

    def argmax(self, axis: int | None = None) -> DeviceArray:
        """Return where the greatest entry is."""
        return self.like(self.library.xp.argmax(self._ordered(), axis=axis))

    def argmin(self, axis: int | None = None) -> DeviceArray:
        """Return where the least entry is."""
        return self.like(self.library.xp.argmin(self._ordered(), axis=axis))

    def _ordered(self) -> Any:
        return self.astype(np.int8).data if self.dtype.kind == "b" else self.data

    # --- places ------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> DeviceArray:
        xp = self.library.xp
        keys = _expanded(key, self.ndim)
        places = [k for k, each in enumerate(keys) if _is_array(each)]
        if not places:
            return self.like(self.data[tuple(keys)])
        if len(places) == 1 and _array_ndim(keys[places[0]]) == 1:
            place = places[0]
            index = self._index(keys[place])
            axis = sum(1 for each in keys[:place] if not isinstance(each, int))
            keys[place] = slice(None)
            return self.like(xp.take(self.data[tuple(keys)], index, axis=axis))
        if len(keys) == 1 and _array_ndim(keys[0]) == self.ndim and _is_mask(keys[0]):
            return self.like(self.data[self._on_device(keys[0])])
        if len(keys) == self.ndim == 2 and len(places) == 2 and all(_array_ndim(each) == 1 for each in keys):
            flat = self._index(keys[0]) * self.shape[1] + self._index(keys[1])
            return self.like(xp.take(xp.reshape(self.data, (-1,)), flat))
        return self.like(self.library.array(self.host()[_host_key(key)]))

    def __setitem__(self, key: Any, values: Any) -> None:
        keys = _expanded(key, self.ndim)
        if not any(_is_array(each) for each in keys):
            self.data[tuple(keys)] = self._values(values)
            return
        if self.library.writes_places:
            self.data[tuple(self._on_device(each) if _is_array(each) else each for each in keys)] = self._values(values)
            return
        host = self.host()
        host[_host_key(key)] = np.asarray(values)
        self.data[...] = self.library.array(host, self.dtype)

    def _values(self, values: Any) -> Any:
        """Return values to write as the library takes them."""
        if isinstance(values, DeviceArray):
            return values.astype(self.dtype, copy=False).data
        if np.ndim(values) == 0:
            return self.dtype.type(values).item()
        return self.library.array(values, self.dtype)

    def _on_device(self, index: Any) -> Any:
        """Return an index, or a mask, as the library takes it."""
        if isinstance(index, DeviceArray):
            return index.data
        host = np.asarray(index)
        return self.library.array(host if host.dtype.kind == "b" else host.astype(np.int64))

    def _index(self, index: Any) -> Any:
        """Return an index as numbers of places."""
        data = self._on_device(index)
        return self.library.xp.nonzero(data)[0] if _is_mask(index) else data


def _expanded(key: Any, ndim: int) -> list[Any]:
    """Return a key as a list, with an ellipsis replaced by slices, and whole numbers as Python's."""
    keys = list(key) if isinstance(key, tuple) else [key]
    keys = [int(each) if isinstance(each, (np.integer,)) else each for each in keys]
    if any(each is Ellipsis for each in keys):
        place = next(k for k, each in enumerate(keys) if each is Ellipsis)
        used = sum(each is not None and each is not Ellipsis for each in keys)
        keys[place : place + 1] = [slice(None)] * (ndim - used)
    if len(keys) == 1 and _is_array(keys[0]) and _array_ndim(keys[0]) > 1:
        return keys
    return keys + [slice(None)] * (ndim - sum(each is not None for each in keys))


def _is_array(key: Any) -> bool:
    return isinstance(key, (DeviceArray, np.ndarray, list))


def _array_ndim(key: Any) -> int:
    return key.ndim if isinstance(key, DeviceArray) else np.ndim(key)


def _is_mask(key: Any) -> bool:
    return bool((key if isinstance(key, DeviceArray) else np.asarray(key)).dtype.kind == "b")


def _host_key(key: Any) -> Any:
    keys = key if isinstance(key, tuple) else (key,)
    return tuple(each.host() if isinstance(each, DeviceArray) else each for each in keys)
