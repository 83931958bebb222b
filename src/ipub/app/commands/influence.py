"""`ipub influence`: which missing values of the training table matter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ipub.app.screen import json_instead, note, say, working

SHOWN = 20
"""Lines that are printed, at most."""


def influence(
    model: Annotated[Path, typer.Argument(help="Model file made by `ipub fit`.")],
    test: Annotated[
        Path | None, typer.Argument(help="Rows whose predictions count; else those of the training table.")
    ] = None,
    by: Annotated[str, typer.Option(metavar="cell|row|column|level", help="What is put together.")] = "cell",
    train: Annotated[Path | None, typer.Option(help="The training table; else where `ipub fit` found it.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help='Write .csv, .tsv or .parquet; "-" prints CSV.')
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show how much of the width of predictions each missing value of the training table causes.

    lower and upper are proved: once the value is known, whatever it is, the range of the score over all fillings
    becomes narrower by at least the one and at most the other. estimate is to first order. Each is the mean over the
    rows, in units of the score. Rows of the training table are counted from 1.

    Examples
    --------
    ipub influence model.ipub
    ipub influence model.ipub test.csv --by column
    ipub influence model.ipub test.csv -o influence.csv
    """
    from ipub.answers.influence import BY
    from ipub.app.choices import check_choice
    from ipub.app.which_values import asked_of, check_output, columns_of, show, written

    check_choice("--by", by, list(BY))
    is_piped = check_output(output, model, test, train)
    with json_instead(json or is_piped, prints=json and not is_piped) as answer:
        estimator, X = asked_of(model, test, train)
        with working("Looking at missing values"):
            columns = columns_of(estimator.influence(X, by=by))
        if not next(iter(columns.values())):
            note("No value of the training table is missing.")
        show(columns, SHOWN)
        say("lower and upper: proved; estimate: to first order")
        answer.update(model=str(model), by=by, **columns)
        written(output, columns)
