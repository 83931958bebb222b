"""Every prediction with its bounds, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np

from ipub.reports.asked import Asked
from ipub.reports.words import text


def predictions_of(asked: Asked) -> dict[str, Any]:
    """Return all rows: labels, predictions, what is bounded, bounds and status."""
    y = asked.options.y
    return {
        "quantity": asked.quantity,
        "threshold": asked.threshold,
        "is_bounded": asked.is_bounded,
        "row": asked.rows.labels,
        "prediction": asked.prediction,
        "actual": None if y is None else [text(label) for label in np.asarray(y).tolist()],
        "value": asked.value.tolist(),
        "lower": asked.lower.tolist(),
        "upper": asked.upper.tolist(),
        "status": None if asked.status is None else asked.status.tolist(),
    }
