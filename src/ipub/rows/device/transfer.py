"""Arguments of kernels go to the device, and what kernels return comes back: arrays inside of anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ipub.rows.device.array import DeviceArray
from ipub.rows.device.libraries import Library


def to_device(value: Any, library: Library) -> Any:
    """Return the same with NumPy's arrays of numbers on a device, inside of tuples, lists and dataclasses too."""

    def convert(each: Any) -> Any:
        is_numbers = isinstance(each, np.ndarray) and each.dtype.kind in "fiub" and each.ndim > 0
        return DeviceArray(library.array(each), library) if is_numbers else each

    return _converted(value, convert)


def to_host(value: Any) -> Any:
    """Return the same with arrays in the memory of this process."""

    def convert(each: Any) -> Any:
        if not isinstance(each, DeviceArray):
            return each
        host = each.host()
        return host if host.ndim else host[()]

    return _converted(value, convert)


def _converted(value: Any, convert: Callable[[Any], Any]) -> Any:
    """Convert arrays inside of a value; whatever has none stays the same object."""
    if isinstance(value, (tuple, list)):
        parts = [_converted(part, convert) for part in value]
        if all(new is old for new, old in zip(parts, value, strict=True)):
            return value
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if is_dataclass(value) and not isinstance(value, type):
        old_parts = {field.name: getattr(value, field.name) for field in fields(value)}
        new_parts = {name: _converted(part, convert) for name, part in old_parts.items()}
        if all(new_parts[name] is old_parts[name] for name in old_parts):
            return value
        # What the object has computed of its fields is not taken along.
        other = object.__new__(type(value))
        for name, part in new_parts.items():
            object.__setattr__(other, name, part)
        return other
    return convert(value)
