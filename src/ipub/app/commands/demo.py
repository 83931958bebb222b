"""`ipub demo`: what this is for, on a real table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to save the figure.")] = Path("ipub-demo.png"),
    alpha: Annotated[float, typer.Option(help="Strength of the penalty.")] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Which rows are kept for the test.")] = 0,
) -> None:
    """Show on real data which predictions the missing cells of a training table can change.

    Examples
    --------
    ipub demo
    ipub demo -o demo.pdf --alpha 0.3
    """
    from ipub.app.demo import show_demo

    show_demo(output, alpha, seed)
