"""The array libraries that are known, and the few things that the array API standard does not say."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.errors import IpubError
from ipub.numeric.rounding import EPS, TINY

LIBRARIES = ("torch", "cupy", "array_api_strict")
"""Packages whose arrays are taken as they are."""

KINDS: dict[str, np.dtype[Any]] = {
    name: np.dtype(name) for name in ("bool", "float64", "float32", "int64", "int32", "int16", "int8", "uint8")
}
"""Types of numbers, by their names in the array API."""


_NUMBERS: dict[tuple[str, Any], Any] = {}
"""Numbers as PyTorch's functions take them: in the memory of this process, whatever the device."""


class DeviceMemory(NamedTuple):
    """Bytes of a device: all, and those that are free."""

    all_of_it: int
    free: int


def is_foreign(values: Any) -> bool:
    """Whether something is an array of one of the libraries, and not of NumPy."""
    package = type(values).__module__.partition(".")[0]
    return package in LIBRARIES and hasattr(values, "shape") and hasattr(values, "dtype")


@dataclass(frozen=True)
class Library:
    """An array library and one of its devices."""

    name: str
    """Of its package."""
    xp: Any
    """Its functions, by the names of the array API standard."""
    device: Any
    """As the library calls it."""

    def array(self, values: Any, dtype: np.dtype[Any] | None = None) -> Any:
        """Return a copy of NumPy's array, or of a number, on the device."""
        host = np.array(values, dtype=dtype, order="C")
        if host.dtype.name not in KINDS:
            host = host.astype(np.float64 if host.dtype.kind == "f" else np.int64)
        return self.xp.asarray(host, device=self.device)

    def numpy(self, data: Any) -> NDArray[Any]:
        """Return a copy of an array in the memory of this process."""
        if self.name == "torch":
            return np.array(data.detach().cpu().numpy())
        return np.array(data.get() if self.name == "cupy" else data)

    def number(self, value: Any, dtype: np.dtype[Any]) -> Any:
        """Return a number as functions of the library take it: no copy to the device is made."""
        value = dtype.type(value).item()
        if self.name != "torch":
            return value
        key = dtype.char, value
        if key not in _NUMBERS or value != value:
            _NUMBERS[key] = self.xp.asarray(value, dtype=self.kind(dtype))
        return _NUMBERS[key]

    def kind(self, dtype: np.dtype[Any]) -> Any:
        """Return the library's name for a type of numbers."""
        return getattr(self.xp, dtype.name)

    @cached_property
    def dtypes(self) -> dict[Any, np.dtype[Any]]:
        """NumPy's name for each type of numbers of the library."""
        kinds = {name: getattr(self.xp, name, None) for name in KINDS}
        # CuPy's types are NumPy's own.
        return {(KINDS[name] if self.name == "cupy" else kind): KINDS[name] for name, kind in kinds.items() if kind}

    def dtype_of(self, data: Any) -> np.dtype[Any]:
        """Return NumPy's name for the type of numbers of an array."""
        found = self.dtypes.get(data.dtype)
        if found is None:
            raise IpubError(f"Arrays of {data.dtype} are not read: give numbers, float64 or float32.")
        return found

    @property
    def writes_places(self) -> bool:
        """Whether ``x[places] = values`` works; in the array API standard it need not."""
        return self.name != "array_api_strict"

    @cached_property
    def memory(self) -> DeviceMemory | None:
        """The memory of the device; None if that is the memory of this process."""
        package = sys.modules[self.name]
        if self.name == "cupy":
            free, all_of_it = self.device.mem_info
            return DeviceMemory(all_of_it, free + package.get_default_memory_pool().free_bytes())
        if self.name == "torch" and self.device.type == "cuda":
            free, all_of_it = package.cuda.mem_get_info(self.device)
            kept = package.cuda.memory_reserved(self.device) - package.cuda.memory_allocated(self.device)
            return DeviceMemory(all_of_it, free + kept)
        return None


def library_of(values: Any) -> Library:
    """Return the library and the device of an array.

    Raises IpubError if array-api-compat is not installed.
    """
    try:
        from array_api_compat import array_namespace, device
    except ImportError as error:
        raise IpubError(
            f"X is an array of {type(values).__module__.partition('.')[0]}, which needs array-api-compat: "
            'pip install "ipub[array]", or give a NumPy array.'
        ) from error
    name = type(values).__module__.partition(".")[0]
    return Library(name, array_namespace(values), device(values))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of a library says that the device has no memory left."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and isinstance(error, torch.OutOfMemoryError):
        return True
    return cupy is not None and isinstance(error, cupy.cuda.memory.OutOfMemoryError)


FORMULA = "x {sign} (fabs(x) * 0x1p-52 + 0x1p-1074)"
"""In CUDA. A fused multiply-add makes no difference: the product with a power of two is exact, or underflows to a
multiple of 2^-1074 that is off by less than that number, which is added."""


def stepped(library: Library, data: Any, sign: Literal["+", "-"]) -> Any:
    """Return at least the next float above each entry, or at most the next below."""
    is_on_gpu = library.memory is not None and data.dtype == library.xp.float64
    kernel = _kernel(library.name, sign) if is_on_gpu else None
    if kernel is not None:
        return kernel(data)
    step = library.xp.abs(data) * EPS + TINY
    return data + step if sign == "+" else data - step


@cache
def _kernel(name: str, sign: str) -> Any:
    """Return one kernel for the formula; None if the library cannot make one."""
    formula, package = FORMULA.format(sign=sign), sys.modules[name]
    if name == "cupy":
        return package.ElementwiseKernel("float64 x", "float64 z", f"z = {formula}", f"ipub_step_{ord(sign)}")
    # In PyTorch's reference, though its name begins with an underscore; without it the formula takes four kernels.
    create = getattr(getattr(package.cuda, "jiterator", None), "_create_jit_fn", None)
    if create is None:
        return None
    code = f"template <typename T> T ipub_step_{ord(sign)}(T x) {{ return {formula}; }}"
    return create(code)
