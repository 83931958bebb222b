"""Values as JSON has them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def as_json(value: Any) -> str:
    """Return a value as JSON, with two spaces of indent: arrays as lists, what is no finite number as null.

    Examples
    --------
    >>> print(as_json({"width": float("nan"), "row": (1, 2)}))
    {
      "width": null,
      "row": [
        1,
        2
      ]
    }
    """
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """Return a value made of what JSON has."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if hasattr(value, "tolist"):  # of NumPy, of any number of dimensions
        value = value.tolist()
    if isinstance(value, list | tuple | set):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)
