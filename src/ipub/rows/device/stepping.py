"""Outward rounding on a device, of which there is so much that one pass over the memory instead of four counts (F1)."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from ipub.numeric.rounding import EPS, TINY
from ipub.rows.device.libraries import Library

FORMULA = "x {sign} (fabs(x) * 0x1p-52 + 0x1p-1074)"
"""In CUDA. A fused multiply-add makes no difference: the product with a power of two is exact, or underflows to a
multiple of 2^-1074 that is off by less than that number, which is added."""


def next_above(library: Library, data: Any) -> Any:
    """Return at least the next float above each entry."""
    kernel = _kernel(library.name, "+") if _is_on_gpu(library, data) else None
    if kernel is not None:
        return kernel(data)
    return library.xp.abs(data) * EPS + TINY + data


def next_below(library: Library, data: Any) -> Any:
    """Return at most the next float below each entry."""
    kernel = _kernel(library.name, "-") if _is_on_gpu(library, data) else None
    if kernel is not None:
        return kernel(data)
    return data - (library.xp.abs(data) * EPS + TINY)


def _is_on_gpu(library: Library, data: Any) -> bool:
    return library.memory is not None and data.dtype == library.xp.float64


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
