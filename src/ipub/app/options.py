"""What several options have in common, and names that help lists.

What help lists is written down here, since the library that knows it takes a second to load; a test compares them.
"""

from __future__ import annotations

from typing import Annotated

import typer

LOSS_NAMES = ("squared_error", "hinge", "log_loss", "squared_hinge", "smoothed_hinge", "huber")
CERTIFICATE_NAMES = ("sphere", "ball", "slope", "tight", "pointwise")
FILLING_NAMES = ("middle", "mean", "median")
MOST_SEED = 2**32 - 2

Alpha = Annotated[
    str,
    typer.Option(
        help="Strength of the penalty: a number, or what cross-validation picks. min has the least held-out loss, 1se "
        "is stronger, with a loss within one standard error of it and narrower bounds."
    ),
]

DRAWS_FOR_99 = "37 for a class, 199 for a score, with 99 %"
"""How many draws are needed, and for what (thm-draws-class, thm-draws-score)."""
