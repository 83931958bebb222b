"""The paper's experiments: `python -m experiments [--quick] [--dataset NAME] [--data-dir DIR] [--output DIR]`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments import SOURCES, reproduce
from ipub.app.program import Program
from ipub.app.screen import say


class Experiments(Program):
    """The paper's experiments as a program."""

    called = "python -m experiments"


app = typer.Typer(cls=Experiments, add_completion=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def main(
    dataset: Annotated[
        list[str] | None, typer.Option(help=f"{', '.join(SOURCES)}; may be repeated. All if left out.")
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder with the data sets; what is not in it is downloaded.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for results.md, its figures and finished measurements; reproduction if left out, or "
            "reproduction-quick.",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two settings, tables cut short: about a minute.")] = False,
) -> None:
    """Repeat the paper's experiments, with our methods added, and write a page of results.

    It can be interrupted: the same command continues where it stopped.
    """
    folder = output or Path("reproduction-quick" if quick else "reproduction")
    page = reproduce(dataset or [], data_dir, folder, quick=quick)
    say(f"Written to {page}", "bold")


if __name__ == "__main__":
    app(prog_name="python -m experiments")
