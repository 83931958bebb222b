"""The command line: its commands in one program.

Each command is one module of `ipub.app.commands`, and imports what it needs when it runs, so that help comes at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

import ipub
from ipub.app.commands.check import check
from ipub.app.commands.demo import demo
from ipub.app.commands.explain import explain
from ipub.app.commands.fit import fit
from ipub.app.commands.influence import influence
from ipub.app.commands.path import path
from ipub.app.commands.plan import plan
from ipub.app.commands.predict import predict
from ipub.app.commands.ranges import ranges
from ipub.app.commands.report import report
from ipub.app.commands.score import score
from ipub.app.commands.tip import tip
from ipub.app.commands.verify import verify
from ipub.app.program import Page, Program

app = typer.Typer(cls=Program, rich_markup_mode=None)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ipub {ipub.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    delimiter: Annotated[str, typer.Option(metavar="C", help="Character between the cells of CSV files.")] = "",
    decimal: Annotated[str, typer.Option(metavar="C", help="Decimal mark of CSV files: . or a comma.")] = "",
    thousands: Annotated[
        str, typer.Option(metavar="C", help="Character between thousands in CSV files, as in 1,234,567.")
    ] = "",
    encoding: Annotated[str, typer.Option(metavar="NAME", help="Encoding of CSV files, such as latin-1.")] = "",
    missing: Annotated[
        list[str] | None,
        typer.Option(metavar="VALUE", help="What stands for a missing value, such as -999; may be repeated."),
    ] = None,
) -> None:
    """Certified prediction bounds for linear models trained on tables with missing cells.

    `ipub COMMAND --help` describes a command, with examples. Tables are .csv, .tsv (or with .gz) or .parquet files;
    "-" is standard input or output. Exit codes: 0 if all went well, 1 if `ipub verify` finds
    a violated bound, 2 for input that cannot be used, 130 after Ctrl-C.
    """


# In the order of the list that `ipub --help` prints.
for command in (
    demo,
    fit,
    predict,
    check,
    report,
    path,
    ranges,
    score,
    explain,
    tip,
    influence,
    plan,
    verify,
):
    app.command(cls=Page)(command)


if __name__ == "__main__":
    app()
