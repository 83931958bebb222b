"""A set of weights that provably holds the model of every completion, and what it says of a prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.slope.bounds import SlopeBounds
from ipub.parallel import row_slices
from ipub.rounding import Array, dot_bounds, down, norm_upper, overflow_means_unbounded, sum_upper, up


@dataclass(frozen=True)
class Region:
    """The set ``{center + b + s : |b_j| <= box_j, |s|_2 <= radius}``, with s zero in the last `n_free` coordinates.

    Parameters
    ----------
    name : str
        Which theorem it comes from.
    center : array of shape (n_features,)
    box : array of shape (n_features,)
    radius : float
    n_free : int
        Coordinates without penalty (an intercept): the last ones, bounded by the box alone.
    """

    name: str
    center: Array
    box: Array
    radius: float
    n_free: int = 0


@dataclass(frozen=True)
class Certificate:
    """Regions that each hold the model of every completion; a bound is the best that any of them gives.

    Attributes
    ----------
    name : str
        The certificate that was asked for.
    regions : tuple of Region
        All with the same `n_free`.
    gap : float
        Duality gap of the trained model at the center.
    slope : SlopeBounds or None
        The slope certificate, where there is one; it is intersected with the regions.
    note : str
        What could not be certified as asked, and what serves instead.
    """

    name: str
    regions: tuple[Region, ...]
    gap: float
    slope: SlopeBounds | None = None
    note: str = ""

    def score_bounds(self, X: Array) -> Array:
        """Return (m, 2): the lowest and highest score that any completion's model may give each row.

        Guarantee: for every completion of the training table inside its intervals, the exact minimiser w
        of the training problem has ``lower <= x.w <= upper``. With an intercept the last column of X, its
        factor, is 1 (0 bounds a sum of weights without it), and every minimiser is meant, if there are several.
        """
        low, high, _, _ = self._intersect(X)
        return np.column_stack([low, high])

    def grouped(self) -> Certificate:
        """Return the certificate free of training rows: uncertain cells are bounded by column, not one by one."""
        return self if self.slope is None else replace(self, slope=self.slope.grouped())

    def shares(self, X: Array) -> dict[str, float]:
        """Return for each theorem the share of ends (lower and upper) on which it gave the bound."""
        *_, lower_from, upper_from = self._intersect(X)
        names = np.array([*(region.name for region in self.regions), "slope"])
        winners = names[np.concatenate([lower_from, upper_from])]
        parts = dict.fromkeys(names if self.slope is not None else names[:-1])
        return {str(name): float(np.mean(winners == name)) for name in parts}

    def _intersect(self, X: Array) -> tuple[Array, Array, NDArray[np.intp], NDArray[np.intp]]:
        """Take the best lower and upper end that any region gives, and say which one it was."""
        X = np.asarray(X, dtype=float)  # integers would wrap around in a norm
        slices = list(row_slices(len(X), X.shape[1] + len(self.regions))) or [slice(0, 0)]
        ends = [self._ends(X[rows]) for rows in slices]
        low, high = (np.concatenate(parts) for parts in zip(*ends, strict=True))
        return low.max(axis=1), high.min(axis=1), low.argmax(axis=1), high.argmin(axis=1)

    def _ends(self, X: Array) -> tuple[Array, Array]:
        """Bound x.w over every region, rounded outward (F2)."""
        centers = np.column_stack([region.center for region in self.regions])
        boxes = np.column_stack([region.box for region in self.regions])
        radii = np.array([region.radius for region in self.regions])
        penalised = X[:, : X.shape[1] - self.regions[0].n_free]
        with overflow_means_unbounded():
            low, high = dot_bounds(X, centers)
            open_ = np.isinf(boxes)
            half = sum_upper(np.abs(X) @ np.where(open_, 0.0, boxes), X.shape[1] + 1)
            half = up(half + up(norm_upper(penalised)[:, None] * radii))
            if open_.any():  # 0 times an infinite side is 0
                half = np.where((X != 0.0).astype(float) @ open_ > 0.0, np.inf, half)
            low, high = down(low - half), up(high + half)
            if self.slope is not None:
                slope_low, slope_high = self.slope.ends(X)
                low, high = np.column_stack([low, slope_low]), np.column_stack([high, slope_high])
        # A bound that overflowed to NaN says nothing: it becomes infinite, never a number.
        low = np.nan_to_num(low, nan=-np.inf, posinf=-np.inf, neginf=-np.inf)
        high = np.nan_to_num(high, nan=np.inf, posinf=np.inf, neginf=np.inf)
        return low, high

    def __repr__(self) -> str:
        names = dict.fromkeys(region.name for region in self.regions)
        parts = ", ".join([*names, *(["slope"] if self.slope is not None else [])])
        return f"Certificate({self.name!r}: {parts}; gap={self.gap:.1e})"


def intersection(name: str, parts: Sequence[Certificate]) -> Certificate:
    """Return the certificate that uses all regions of several."""
    regions = tuple(region for part in parts for region in part.regions)
    slope = next((part.slope for part in parts if part.slope is not None), None)
    return Certificate(name, regions, parts[0].gap, slope, " ".join(part.note for part in parts if part.note))
