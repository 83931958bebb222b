"""`ipub plan`: which missing values of the training table to find first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ipub.app.screen import json_instead, say, working

SHOWN = 20
"""Values that are printed, at most."""


def plan(
    model: Annotated[Path, typer.Argument(help="Model file made by `ipub fit`.")],
    test: Annotated[Path, typer.Argument(help="Rows whose predictions are to be certain.")],
    budget: Annotated[
        float | None, typer.Option(help="What the values may cost together: how many, if each costs 1.")
    ] = None,
    cost: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=X", help="Cost of a value of a column; may be repeated.")
    ] = None,
    by: Annotated[str, typer.Option(metavar="cell|row|column", help="What is found at once.")] = "cell",
    threshold: Annotated[
        float | None, typer.Option(help="Of numbers: a prediction is certain if it is on one side of this.")
    ] = None,
    train: Annotated[Path | None, typer.Option(help="The training table; else where `ipub fit` found it.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help='Write .csv, .tsv or .parquet; "-" prints CSV.')
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say which missing values of the training table to find so that most predictions become certain.

    The order is greedy and to first order. How many predictions are certain with the first of them known is proved:
    whatever they are, and if they are what is filled in now. Rows of the training table are counted from 1.

    Examples
    --------
    ipub plan model.ipub test.csv --budget 20
    ipub plan model.ipub test.csv --by row -o plan.csv
    ipub plan model.ipub test.csv --cost glucose=5 --budget 50
    """
    from ipub.answers.measuring import BY
    from ipub.app.choices import check_choice
    from ipub.app.which_values import asked_of, check_output, columns_of, costs, show, written

    check_choice("--by", by, list(BY))
    is_piped = check_output(output, model, test, train)
    with json_instead(json or is_piped, prints=json and not is_piped) as answer:
        estimator, X = asked_of(model, test, train)
        with working("Planning"):
            found = estimator.measurement_plan(X, budget, costs(cost), by, threshold=threshold)
        cells, curve = columns_of(found.cells), columns_of(found.curve)
        show(cells, SHOWN)
        show(curve, len(curve["n_cells"]))
        say("proved: certain_at_least whatever the values are, certain_if_as_filled if they are as filled in")
        if found.why_not_all:
            say(found.why_not_all)
        answer.update(model=str(model), by=by, n_rows=found.n_rows, n_missing=found.n_missing, cells=cells, curve=curve)
        written(output, cells)
