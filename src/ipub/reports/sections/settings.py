"""What is needed to make the same report again: parameters, versions, seed, hashes of what went in."""

from __future__ import annotations

import hashlib
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

import ipub
from ipub.reports.asked import Asked
from ipub.reports.words import text
from ipub.tables.frames import is_frame, is_missing
from ipub.tables.interval_matrix import IntervalMatrix

PACKAGES = ("numpy", "scipy", "scikit-learn")
LONGEST = 2000


def settings_of(asked: Asked) -> dict[str, Any]:
    """Return the parameters of the model, versions, and hashes of the tables."""
    estimator = asked.estimator
    parameters = {name: text(repr(value), LONGEST) for name, value in sorted(estimator.get_params(deep=False).items())}
    given = asked.training.given
    certificates = asked.training.certificates
    return {
        "estimator": type(estimator).__name__,
        "parameters": parameters,
        "alpha": float(estimator.alpha_),
        "certificate": text(certificates[0]) if certificates else None,
        "duality_gap": float(estimator.dual_gap_),
        "random_state": parameters.get("random_state"),
        "versions": {"ipub": ipub.__version__, "python": platform.python_version(), **_versions()},
        "machine": f"{platform.system()} {platform.machine()}",
        "hashes": {
            "training table": None if given is None else digest(given.X),
            "rows": digest(asked.rows.X),
            "labels": None if asked.options.y is None else digest(np.asarray(asked.options.y)[:, None]),
        },
        "context": {text(name): text(value, LONGEST) for name, value in asked.options.context.items()},
        "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def digest(X: Any) -> str:
    """Return the SHA-256 of a table: of the names of its columns and their values, in whatever library it is.

    Examples
    --------
    >>> import numpy as np
    >>> digest(np.array([[1.0, np.nan]])) == digest([[1, None]])
    True
    """
    found = hashlib.sha256()
    if isinstance(X, IntervalMatrix):
        for part in (X.table, X.row_starts, X.columns, X.centers, X.radii):
            found.update(np.ascontiguousarray(part).tobytes())
        return found.hexdigest()
    if is_frame(X):
        columns = [(name, series.to_list()) for name, series in nw.from_native(X, eager_only=True).to_dict().items()]
    else:
        values = np.asarray(X, dtype=object)
        columns = [("", values[:, j].tolist()) for j in range(values.shape[1])]
    for name, values in columns:
        found.update(f"{name}\n".encode("utf-8", "surrogatepass"))
        for value in values:
            found.update(_plain(value).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file, as ``sha256sum`` prints it; nothing of what is no ordinary file."""
    if not os.path.isfile(path):
        return ""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _plain(value: Any) -> str:
    """Return a value as a line that does not depend on the library or the type of a number."""
    if is_missing(value):
        return "\n"
    return f"{float(value)!r}\n" if isinstance(value, int | float | np.number | np.bool_) else f"{value!r}\n"


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # of a copy that was not installed
            continue
    return found
