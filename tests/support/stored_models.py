"""Small models whose files are kept for the last two versions of the format, in `tests/app/files/stored`.

``PYTHONPATH=tests python -m support.stored_models`` writes those of the present version, with the bounds of some rows.
Files of the version before stay as they were written; older ones are removed when the version is increased.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ipub import BoundedClassifier, BoundedRegressor, Budget, Draws, Intervals
from ipub.app.files.modelfile import VERSION, load, save

STORED = Path(__file__).parents[1] / "app" / "files" / "stored"


def stored_models() -> dict[str, tuple[Any, bool]]:
    """Return fitted models by name, and whether their file has training rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16, 2))
    y = X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=16)
    X[:3, 1] = np.nan
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(y > 0.3, "low", "high")})
    frame.loc[4, "c"] = None
    cells = Intervals("observed", precision=0.1)
    return {
        "categories": (BoundedClassifier(alpha=0.3, scale="standard").fit(frame, np.where(y > 0, "yes", "no")), True),
        "without_rows": (BoundedRegressor("huber", alpha=0.5, intervals=cells).fit(X, y), False),
        "budget": (BoundedClassifier("hinge", alpha=0.5, uncertainty=Budget(cells=1)).fit(X, y > 0), True),
        "draws": (BoundedRegressor(alpha=1.0, uncertainty=Draws(n_draws=3, random_state=0)).fit(X, y), True),
    }


def rows_of(model: Any) -> Any:
    """Return some rows to bound."""
    numbers = np.array([[0.0, 0.0], [1.0, -2.0], [0.5, 1.0]])
    if model.n_features_in_ == 2:
        return numbers
    return pd.DataFrame({"a": numbers[:, 0], "b": numbers[:, 1], "c": ["low", "high", None]})


def bounds_of(model: Any) -> np.ndarray[Any, Any]:
    """Return the bounds of these rows."""
    bound = model.predict_bounds if isinstance(model, BoundedRegressor) else model.decision_bounds
    return np.asarray(bound(rows_of(model)))


if __name__ == "__main__":
    STORED.mkdir(exist_ok=True)
    for name, (model, rows) in stored_models().items():
        path = STORED / f"version_{VERSION}_{name}.ipub"
        save(model, path, rows=rows)
        save(model, path, {"bounds": bounds_of(load(path))}, rows=rows)
        print(f"{path}: {path.stat().st_size} bytes")
