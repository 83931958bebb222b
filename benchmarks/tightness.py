"""Certified width over attained width, for each certificate, on real data."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.real_data import load, with_holes
from ipub.attained import attained_bounds
from ipub.certificates import CERTIFICATES
from ipub.data.blocks import MemoryRows
from ipub.losses import LOSSES
from ipub.penalties import ElasticNet
from ipub.problem import Problem
from ipub.solvers import solve

MODELS = (("log_loss", 0.1, 0.0), ("log_loss", 1.0, 0.0), ("hinge", 1.0, 0.0), ("log_loss", 0.1, 0.01))
HOLES = ((0.001, 0.5), (0.01, 0.5), (0.01, 0.9))
SETTINGS = [
    *((name, *model, *holes) for name in ("default", "higgs_51k") for model in MODELS for holes in HOLES),
    *(("drive_partial", "log_loss", lam, 0.0, *holes) for lam in (0.1, 1.0) for holes in HOLES),
    # where it is hard: many holes, strong curvature, little penalty
    ("default", "log_loss", 0.1, 0.0, 0.05, 0.5),
    ("default", "squared_error", 0.1, 0.0, 0.01, 0.5),
    ("default", "log_loss", 0.01, 0.0, 0.001, 0.5),
    ("default", "log_loss", 0.01, 0.0, 0.01, 0.5),
]
N_TEST = 20


def run(console: Console) -> None:
    table = Table(title=f"certified / attained width of the score, median over {N_TEST} test rows")
    for column in ("data", "loss", "lambda", "kappa", "missing b", "level a", *CERTIFICATES, "attained width"):
        table.add_column(column, justify="right")
    for name, loss, lam, kappa, share, level in track(SETTINGS, console=console, transient=True):
        X, y, X_test = load(name)
        problem = Problem(MemoryRows(with_holes(X, share, level), y), LOSSES[loss], ElasticNet(lam, kappa))
        solution = solve(problem)
        attained = np.ptp(attained_bounds(problem, solution, X_test[:N_TEST]).bounds, axis=1)
        ratios = [
            np.median(np.ptp(certify(problem, solution).score_bounds(X_test[:N_TEST]), axis=1) / attained)
            for certify in CERTIFICATES.values()
        ]
        settings = (name, loss, f"{lam:g}", f"{kappa:g}", f"{share:g}", f"{level:g}")
        table.add_row(*settings, *(f"{ratio:.2f}" for ratio in ratios), f"{np.median(attained):.2e}")
    console.print(table)
