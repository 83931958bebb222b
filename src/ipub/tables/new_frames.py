"""Frames that answers are given in."""

from __future__ import annotations

import importlib
from typing import Any

KINDS = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}
"""What makes a frame of columns in each library, the preferred one first."""


def frame_of(columns: dict[str, Any], like: Any = None) -> Any:
    """Return columns as a frame of the library of `like`; if that is no frame, of the first library that is installed.

    Without any of the libraries the columns are returned as they are.

    Examples
    --------
    >>> frame_of({"row": [3], "column": ["age"]})
       row column
    0    3    age
    """
    own = type(like).__module__.split(".")[0]
    for library in [own] if own in KINDS else KINDS:
        try:
            return getattr(importlib.import_module(library), KINDS[library])(columns)
        except ImportError:
            continue
    return columns
