"""Options of `ipub fit` that say what its bounds are about, and names that the help of options lists."""

from __future__ import annotations

from typing import Annotated

import typer

# What help lists is written down here, since the library that knows it takes a second to load; a test compares them.
LOSS_NAMES = ("squared_error", "hinge", "log_loss", "squared_hinge", "smoothed_hinge", "huber")
CERTIFICATE_NAMES = ("sphere", "ball", "slope", "tight", "pointwise")
FILLING_NAMES = ("middle", "mean", "median")

BudgetOption = Annotated[
    str, typer.Option(help="Bound tables in which so many holes differ from the filled-in ones: 5% or 12.")
]
WrongCells = Annotated[int, typer.Option(min=0, help="Observed cells that may be wrong, beside the holes.")]
WrongBy = Annotated[
    float | None, typer.Option(help="By how much, in the units of their column; else anywhere in its interval.")
]
NumberOfDraws = Annotated[int, typer.Option(min=0, help="Bound what an imputer draws, so often: 199 for 99 %.")]
ImputerName = Annotated[
    str | None, typer.Option(help="Imputer of --draws: hot_deck, which is the default, or chained.")
]
DrawRadius = Annotated[
    float | None, typer.Option(min=0.0, max=1.0, help="How far holes may be off a draw, in half-widths; else 0.1.")
]
