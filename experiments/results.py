"""Quantities derived from the measurements of a table, for the page and the figures."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from experiments.rivals import Coverage, share_covered
from experiments.settings import PAPER_RATIOS, Setting
from experiments.store import Measured
from ipub.numeric.rounding import Array

METHODS = ("sphere", "columns", "inewton", "tight")
"""The certified methods: the paper's, interval Newton in two forms, and ours."""
TOLERANCE = 1e-9
"""An end of an attained range this little outside an interval counts as inside: the accuracy of retraining."""


@dataclass(frozen=True, eq=False)
class SettingResult:
    """The measurements of one table in one setting.

    Attributes
    ----------
    setting : Setting
    bounds : Measured
        Score bounds of all test rows by each method, and seconds.
    attained : Measured
        Score ranges that retraining attained for part of the test rows.
    imputation : Measured
        Score intervals of these rows as imputation reports them, and seconds.
    """

    setting: Setting
    bounds: Measured
    attained: Measured
    imputation: Measured

    @property
    def cells(self) -> tuple[Measured, ...]:
        """All three."""
        return self.bounds, self.attained, self.imputation

    @property
    def rows(self) -> NDArray[np.intp]:
        """The test rows for which attained ranges were searched."""
        return np.asarray(self.attained.arrays["rows"], dtype=np.intp)

    def lengths(self, method: str, *, of_probability: bool = True) -> Array:
        """Return the length of each test row's interval; "attained" has only the rows `rows`."""
        bounds = self.attained.arrays["bounds"] if method == "attained" else self.bounds.arrays[method]
        return np.asarray(np.ptp(expit(bounds) if of_probability else bounds, axis=1))

    def narrower(self, method: str, other: str) -> float:
        """Return the fraction of test rows on which one method's interval of scores is narrower than another's."""
        return float(np.mean(self.lengths(method, of_probability=False) < self.lengths(other, of_probability=False)))

    def excess(self, method: str) -> float:
        """Return the median ratio of certified and attained length of a score, over rows where both are positive."""
        attained = self.lengths("attained", of_probability=False)
        positive = attained > 0.0
        ratios = self.lengths(method, of_probability=False)[self.rows][positive] / attained[positive]
        return float(np.median(ratios)) if positive.any() else float("nan")

    def seconds(self, method: str) -> float:
        """Return the time of a method, from the table of intervals to the bounds of all test rows."""
        return float(statistics.median(self.bounds.figures["seconds"][method]))

    def paper_ratio(self, paper_name: str) -> float | None:
        """Return the ratio of the sphere's and interval Newton's time in the paper's Table 3."""
        return PAPER_RATIOS.get((paper_name, self.setting))

    def covered(self, method: str) -> Coverage:
        """Compare what a method reports for `rows` with what is attained there, up to `TOLERANCE`."""
        attained = self.attained.arrays["bounds"]
        slack = TOLERANCE * (1.0 + np.abs(attained))
        return share_covered(self.reported(method) + slack * [-1.0, 1.0], attained)

    def reported(self, method: str) -> Array:
        """Return the interval of scores that a method of imputation, or a certificate, reports for `rows`."""
        if method in self.imputation.arrays:
            return self.imputation.arrays[method]
        return np.asarray(self.bounds.arrays[method][self.rows])


@dataclass(frozen=True, eq=False)
class TableResult:
    """All that was measured on one table.

    Attributes
    ----------
    name, paper_name, words : str
        As in `experiments.prepare.Prepared`.
    shape : tuple of int
        Training rows, test rows and features.
    settings : sequence of SettingResult
    """

    name: str
    paper_name: str
    words: str
    shape: tuple[int, int, int]
    settings: Sequence[SettingResult]

    @property
    def slug(self) -> str:
        """A name for files."""
        return slug(self.name)


def slug(name: str) -> str:
    """Return a name that is safe for file names."""
    return "_".join("".join(c if c.isalnum() else " " for c in name.lower()).split())
