"""The range over draws of an imputer: bounds that hold with a probability (thm-draws)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ipub.model_sets.base import ModelSet
from ipub.model_sets.certificate import Certificate
from ipub.numeric.rounding import Array


@dataclass(frozen=True)
class DrawBounds(ModelSet):
    """From the least lower to the greatest upper end over the certificates of all draws.

    With probability ``1 - 2 / (n_draws + 1)`` a row's score is between its ends (thm-draws-score).
    """

    members: tuple[Certificate, ...]
    """One for each draw, of the models of all tables in the neighbourhood of what was drawn."""
    weights: Array
    """The models trained on the draws (where a drawn value is near an end of its interval, at the middle of its
    neighbourhood), shape (n_draws, n_features)."""
    name: str = "draws"

    @property
    def keeps_training_rows(self) -> bool:
        return any(member.keeps_training_rows for member in self.members)

    def ends(self, X: Array) -> tuple[Array, Array]:
        low, high = np.full(len(X), np.inf), np.full(len(X), -np.inf)
        for member in self.members:
            bounds = member.score_bounds(X)
            low, high = np.minimum(low, bounds[:, 0]), np.maximum(high, bounds[:, 1])
        return low, high

    def plain(self, X: Array, radius: Array | None = None) -> Array:
        """Return (m, 2): the range of the scores of the models trained on the draws themselves; it proves nothing.

        Cells of X may move by a radius; each model takes the row inside that suits it.
        """
        scores = np.asarray(X, dtype=float) @ self.weights.T
        moved = 0.0 if radius is None else radius @ np.abs(self.weights.T)
        return np.column_stack([(scores - moved).min(axis=1), (scores + moved).max(axis=1)])

    def in_columns(self) -> DrawBounds:
        return replace(self, members=tuple(member.in_columns() for member in self.members))

    def without_training_rows(self) -> DrawBounds:
        return replace(self, members=tuple(member.without_training_rows() for member in self.members))
