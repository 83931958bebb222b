"""Whether a prediction is certain: the one rule that every part of the package uses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ipub.numeric.rounding import Array


def possible_labels(bounds: Array, threshold: float = 0.0) -> NDArray[np.bool_]:
    """Return which labels bounds of the scores leave possible, shape (m, n_classes); a single one is certain.

    The rule:

    - Two classes: the first label is possible unless the lower bound is above the threshold, the second unless the
      upper bound is below it. A score of exactly the threshold is a tie, and a tie leaves both labels possible.
    - More classes: a label is possible unless its upper bound is below the lower bound of another label. Equal bounds
      are a tie, and leave both labels possible.
    - Bounds of which one end is infinite or NaN say nothing about their score.

    Bounds have shape (m, 2) or (m, n_classes, 2), as from `BoundedClassifier.decision_bounds`; of two classes they may
    be of another quantity that decides at a `threshold`, as probabilities do at 0.5.
    """
    proved = np.isfinite(bounds).all(axis=-1)
    low, high = np.where(proved, bounds[..., 0], -np.inf), np.where(proved, bounds[..., 1], np.inf)
    if bounds.ndim == 2:
        return np.column_stack([low <= threshold, high >= threshold])
    is_possible: NDArray[np.bool_] = high >= low.max(axis=1, keepdims=True)
    return is_possible


def is_certain(bounds: Array, threshold: float = 0.0) -> NDArray[np.bool_]:
    """Return (m,): which predictions are certain, those with exactly one label of `possible_labels`.

    Examples
    --------
    >>> import numpy as np
    >>> is_certain(np.array([[0.2, 0.9], [-1.0, 0.3], [0.0, 0.5], [0.1, np.inf]]))
    array([ True, False, False, False])
    """
    return np.asarray(possible_labels(bounds, threshold).sum(axis=1) == 1)
