"""A set of weights that provably holds the model of every completion: a ball plus a box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ipub.model_sets.base import FEWEST_ROWS, ModelSet
from ipub.numeric.rounding import Array, dot_bounds, down, norm_upper, sum_upper, up


@dataclass(frozen=True)
class Region(ModelSet):
    """The set ``{center + b + s : |b_j| <= box_j, |s|_2 <= radius}``, with s zero in the last `n_free` coordinates."""

    name: str
    center: Array
    box: Array
    radius: float
    n_free: int = 0
    """Coordinates without penalty (an intercept): the last ones, bounded by the box alone."""
    n_rows: int = 0
    """Number of training rows whose values center and box are sums over, if these rows are few; else 0."""

    @property
    def keeps_training_rows(self) -> bool:
        return 0 < self.n_rows < FEWEST_ROWS

    def ends(self, X: Array) -> tuple[Array, Array]:
        low, high = self.ends_of_all([self], X)
        return low[:, 0], high[:, 0]

    @classmethod
    def ends_of_all(cls, sets: Sequence[Region], X: Array) -> tuple[Array, Array]:
        """Bound x.w over each of several regions with the same `n_free`, rounded outward (fp-sums)."""
        if any(region.n_free != sets[0].n_free for region in sets):
            raise ValueError("regions with different numbers of free coordinates")
        centers = np.column_stack([region.center for region in sets])
        boxes = np.column_stack([region.box for region in sets])
        radii = np.array([region.radius for region in sets])
        penalised = X[:, : X.shape[1] - sets[0].n_free]
        low, high = dot_bounds(X, centers)
        open_ = np.isinf(boxes)
        half = sum_upper(np.abs(X) @ np.where(open_, 0.0, boxes), X.shape[1] + 1)
        half = up(half + up(norm_upper(penalised)[:, None] * radii))
        if open_.any():  # 0 times an infinite side is 0
            half = np.where((X != 0.0).astype(float) @ open_ > 0.0, np.inf, half)
        return down(low - half), up(high + half)

    def without_training_rows(self) -> Region:
        """Return the region, or, where it depends on few rows, a ball around zero that contains it."""
        if not self.keeps_training_rows:
            return self
        penalised = slice(0, len(self.center) - self.n_free)
        sizes = norm_upper(np.array([self.center[penalised], self.box[penalised]]))
        center, box = np.zeros_like(self.center), np.zeros_like(self.box)
        # The bracket of an intercept is two numbers.
        center[penalised.stop :], box[penalised.stop :] = self.center[penalised.stop :], self.box[penalised.stop :]
        radius = float(up(up(sizes[0] + sizes[1]) + self.radius))
        return replace(self, center=center, box=box, radius=radius, n_rows=0)
