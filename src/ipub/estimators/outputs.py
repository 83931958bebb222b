"""Output of bounds: arrays, or frames with column names."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ipub.errors import IpubError
from ipub.rows.device import DeviceArray, is_foreign, library_of

KINDS = ("default", "pandas", "polars", "pyarrow")

PAGE_WIDTH = 100
"""Characters of a line of a sentence below a printed table."""


def like_input(values: Any, X: Any) -> Any:
    """Return results for X as an array of its library, on its device, if X is of CuPy, PyTorch or the array API."""
    if type(X) is np.ndarray:
        return values
    if isinstance(values, DeviceArray):
        return values.data
    return library_of(X).array(values) if is_foreign(X) and values.dtype.kind in "fiub" else values


def text_table(columns: Iterable[Sequence[str]], below: Iterable[str], left: int = 0) -> str:
    """Return columns of text side by side, the first `left` of them aligned to the left, and sentences below."""
    padded = []
    for number, column in enumerate(columns):
        size = max(map(len, column))
        padded.append([cell.ljust(size) if number < left else cell.rjust(size) for cell in column])
    lines = ["  ".join(line) for line in zip(*padded, strict=True)]
    return "\n".join([*lines, *(line for each in below for line in textwrap.wrap(each, PAGE_WIDTH))])


class FrameOutput(BaseEstimator):
    """Base of the estimators: bounds as arrays or frames."""

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what the methods for bounds and sets return, in the way of scikit-learn's transformers.

        Parameters
        ----------
        transform : {"default", "pandas", "polars", "pyarrow"}, optional
            Arrays, or frames of that library: with columns ``lower`` and ``upper``, of several classes
            ``<class>_lower`` and ``<class>_upper``, for `predict_set` the classes; and with the index of X if it
            is a pandas frame. None changes nothing.

        Examples
        --------
        >>> import pandas as pd
        >>> from ipub import BoundedRegressor
        >>> X = pd.DataFrame({"size": [1.0, None, 3.0, 2.0]}, index=list("abcd"))
        >>> reg = BoundedRegressor().set_output(transform="pandas").fit(X, [1.0, 2.0, 3.0, 2.0])
        >>> list(reg.predict_bounds(X[2:])), list(reg.predict_bounds(X[2:]).index)
        (['lower', 'upper'], ['c', 'd'])
        """
        if transform is None:
            return self
        if transform not in KINDS:
            raise IpubError(f"transform={transform!r} is not known: use {', '.join(map(repr, KINDS))}.")
        self._sklearn_output_config = {"transform": transform}  # clone copies it
        return self

    def _output(self, values: NDArray[Any], X: Any, columns: list[str] | None = None) -> Any:
        """Return bounds, or an array with these columns, in the output format that was set."""
        kind = getattr(self, "_sklearn_output_config", {}).get("transform", "default")
        if kind == "default":
            return like_input(values, X)
        values = np.asarray(values)
        try:
            library = importlib.import_module(kind)
        except ImportError as error:
            raise ImportError(f"set_output(transform={kind!r}) needs {kind}: pip install {kind}.") from error
        if columns is None:
            classes = [f"{label}_" for label in getattr(self, "classes_", ())] if values.ndim == 3 else [""]
            columns = [f"{label}{end}" for label in classes for end in ("lower", "upper")]
        flat = values.reshape(len(values), -1)
        if kind == "pandas":
            return library.DataFrame(flat, columns=columns, index=X.index if hasattr(X, "iloc") else None)
        if kind == "pyarrow":
            return library.table(dict(zip(columns, flat.T, strict=True)))
        return library.DataFrame(flat, schema=columns, orient="row")
