"""A real table with genuine holes, for examples: the mammographic mass data."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["load_mammographic_masses"]

FILE = "mammographic_masses.csv"
FEATURES = ("age", "shape", "margin", "density")
TARGET = "severity"


def load_mammographic_masses(*, as_frame: bool = False) -> tuple[Any, NDArray[np.str_]]:
    """Load the mammographic mass data.

    Each row is a mass seen in a mammogram; the question is whether it is malignant. Holes are genuine: 5 of
    `age`, 31 of `shape`, 48 of `margin` and 76 of `density`, in 130 rows.

    =========  ===========================================================================================
    column     meaning
    =========  ===========================================================================================
    age        age of the patient in years
    shape      1 round, 2 oval, 3 lobular, 4 irregular
    margin     1 circumscribed, 2 microlobulated, 3 obscured, 4 ill-defined, 5 spiculated
    density    1 high, 2 iso, 3 low, 4 fat-containing
    severity   the target: benign (516 rows) or malignant (445 rows)
    =========  ===========================================================================================

    Parameters
    ----------
    as_frame : bool, default=False
        Whether X is a PyArrow table with column names, rather than an array. It needs pyarrow (the extra ``cli``).

    Returns
    -------
    X : array of shape (961, 4), or pyarrow.Table
        The features in the order of the table above, NaN where missing.
    y : array of shape (961,)
        "benign" or "malignant".

    Notes
    -----
    Source: M. Elter, R. Schulz-Wendtland and T. Wittenberg, "The prediction of breast cancer biopsy outcomes
    using two CAD approaches that both emphasize an intelligible decision process", Medical Physics 34(11),
    2007; "Mammographic Mass", UCI Machine Learning Repository, doi:10.24432/C53K6Z. Licence: Creative
    Commons Attribution 4.0 International (CC BY 4.0). Changes: the BI-RADS assessment, a physician's own
    verdict that the source calls non-predictive, is left out; severity 0 and 1 are written as words; '?' is
    an empty cell.

    Examples
    --------
    >>> from ipub.datasets import load_mammographic_masses
    >>> X, y = load_mammographic_masses()
    >>> X.shape
    (961, 4)
    """
    with (files("ipub.datasets") / FILE).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    X = np.array([[float(row[name] or "nan") for name in FEATURES] for row in rows])
    y = np.array([row[TARGET] for row in rows])
    if not as_frame:
        return X, y
    import pyarrow as pa

    return pa.table(dict(zip(FEATURES, X.T.copy(), strict=True))), y
