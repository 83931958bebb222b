"""The settings of the paper's experiments, and what it reports for them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Setting:
    """How many cells are missing, how wide their intervals are, and how strong the penalty is.

    Attributes
    ----------
    lam : float
        The penalty's lambda.
    b : float
        Share of the cells that are missing.
    a : float
        Share of a column's values inside the interval of its missing cells.
    """

    lam: float
    b: float
    a: float

    @property
    def name(self) -> str:
        """A name for files."""
        return f"lambda{self.lam:g}_b{self.b:g}_a{self.a:g}"


GRID = tuple(Setting(lam, b, a) for lam in (0.1, 1.0) for b in (0.01, 0.001) for a in (0.5, 0.9))
"""The eight settings of each data set."""

DEEP = Setting(0.1, 0.01, 0.9)
"""The setting with the widest intervals, in which imputation is repeated most often."""

PAPER_SIZES = {"default": (27_000, 3_000, 28), "drive": (52_658, 5_851, 48), "HIGGS": (1_100_000, 11_000, 28)}
"""Training rows, test rows and features in the paper's Table 2."""

_TABLE_3 = {
    ("default", 0.5): (5.16e-3, 5.39e-3, 3.41e-3, 2.40e-3),
    ("default", 0.9): (4.96e-3, 5.63e-3, 3.27e-3, 2.64e-3),
    ("drive", 0.5): (2.60e-3, 2.67e-3, 1.33e-3, 1.67e-3),
    ("drive", 0.9): (2.80e-3, 2.89e-3, 1.32e-3, 1.48e-3),
    ("HIGGS", 0.5): (4.74e-3, 5.10e-3, 1.02e-3, 9.34e-4),
    ("HIGGS", 0.9): (4.70e-3, 5.06e-3, 9.68e-4, 8.61e-4),
}

PAPER_RATIOS = {
    (name, Setting(lam, b, a)): ratio
    for (name, a), row in _TABLE_3.items()
    for (lam, b), ratio in zip(((0.1, 0.01), (0.1, 0.001), (1.0, 0.01), (1.0, 0.001)), row, strict=True)
}
"""The paper's Table 3: computation time of IPUB over that of the interval Newton method."""
