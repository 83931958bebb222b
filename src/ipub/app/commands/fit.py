"""`ipub fit`: train on a table with missing cells, and save a model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, get_args

import typer

from ipub.app.options import CERTIFICATE_NAMES, DRAWS_FOR_99, LOSS_NAMES, MOST_SEED, Alpha
from ipub.app.screen import json_instead, note, say, working


def fit(
    context: typer.Context,
    train: Annotated[
        Path, typer.Argument(help="Training table: .csv, .tsv (or with .gz), .parquet, or a folder of .parquet.")
    ],
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column to predict.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to save the model.")] = Path("model.ipub"),
    loss: Annotated[str, typer.Option(help=f"auto (by the values of the target), {', '.join(LOSS_NAMES)}.")] = "auto",
    alpha: Alpha = "1se",
    l1_ratio: Annotated[float, typer.Option(help="Fraction of the penalty that is l1, from 0 to below 1.")] = 0.0,
    hinge_width: Annotated[float, typer.Option(help="Width of the rounded kink of smoothed_hinge.")] = 0.5,
    huber_delta: Annotated[
        float, typer.Option(help="Where huber turns from parabola to lines, in the target's units.")
    ] = 1.0,
    no_intercept: Annotated[bool, typer.Option("--no-intercept", help="Fit no intercept.")] = False,
    without_rows: Annotated[
        bool, typer.Option("--without-rows", help="Leave training rows out of the model file; bounds are wider.")
    ] = False,
    keep_training_rows: Annotated[bool, typer.Option("--keep-training-rows", hidden=True)] = False,
    certificate: Annotated[
        str, typer.Option(help=f"How bounds are proved: {', '.join(CERTIFICATE_NAMES)}; none trains only.")
    ] = "tight",
    intervals: Annotated[
        str,
        typer.Option(help="Where missing values lie: quantile, observed, or conditional (by the row's other values)."),
    ] = "quantile",
    interval_level: Annotated[
        float, typer.Option(help="Fraction of observed values in a quantile or conditional interval.", min=0, max=1)
    ] = 0.9,
    scale: Annotated[str, typer.Option(help="Scale columns inside: none, standard or minmax.")] = "standard",
    ranges: Annotated[Path | None, typer.Option(help="TOML file with lines like age = [0, 120].")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
    budget: Annotated[
        str, typer.Option(help="Bound tables in which so many holes differ from the filled-in ones: 5% or 12.")
    ] = "",
    wrong_cells: Annotated[int, typer.Option(min=0, help="Observed cells that may be wrong, beside the holes.")] = 0,
    wrong_by: Annotated[
        float | None, typer.Option(help="By how much, in the units of their column; else anywhere in its interval.")
    ] = None,
    wrong_labels: Annotated[int, typer.Option(min=0, help="Labels, of two classes, that may be wrong.")] = 0,
    dropped_rows: Annotated[int, typer.Option(min=0, help="Training rows that may be absent.")] = 0,
    draws: Annotated[int, typer.Option(min=0, help=f"Bound what an imputer draws, so often: {DRAWS_FOR_99}.")] = 0,
    imputer: Annotated[
        str | None, typer.Option(help="Imputer of --draws: hot_deck, which is the default, or chained.")
    ] = None,
    draw_radius: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="How far holes may be off a draw, in half-widths; else 0.1.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of --draws.")] = 0,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON, and do not look for what makes the bounds narrower.")
    ] = False,
) -> None:
    """Train on a table with missing cells and save a model that bounds its predictions.

    Bounds hold for every filling of the missing cells; with --budget, --wrong-cells, --wrong-labels or --dropped-rows
    for tables that differ from a filled-in one in little; with --draws with a probability. What is said of them is
    printed.

    Examples
    --------
    ipub fit train.csv --target income
    ipub fit train.csv --target income --alpha 0.1 -o strong.ipub
    ipub fit train.csv --target income --budget 5%
    ipub fit train.csv --target income --ranges ranges.toml --drop id
    """
    from ipub.app.advice import Fit, SameCommand
    from ipub.app.choices import check_choice, choose_loss, choose_uncertainty, interval_kinds
    from ipub.app.files.atomic import check_folder
    from ipub.app.files.modelfile import save
    from ipub.app.files.reading import current_reading
    from ipub.app.files.standard_input import STANDARD, shown_name
    from ipub.app.files.tables import check_not_overwritten
    from ipub.app.fit_report import say_what_is_kept, show_holes, show_training
    from ipub.app.penalty_screen import read_alpha
    from ipub.app.training_tables import open_training_table
    from ipub.estimators import BoundedClassifier, BoundedRegressor
    from ipub.estimators.fitted_state import as_saved
    from ipub.losses import LOSSES, loss_parameters
    from ipub.promises import Budget
    from ipub.tables.holes import Rule
    from ipub.training.reading.intervals import Intervals

    kinds = {"wrong_cells": wrong_cells, "precision": wrong_by, "labels": wrong_labels, "rows": dropped_rows}
    uncertainty = choose_uncertainty(budget, kinds, draws, imputer, draw_radius, seed)
    check_choice("--loss", loss, ["auto", *LOSS_NAMES])
    check_choice("--certificate", certificate, [*CERTIFICATE_NAMES, "none"])
    check_choice("--intervals", intervals, list(get_args(Rule)))
    check_choice("--scale", scale, ["none", "standard", "minmax"])
    if keep_training_rows:
        note("--keep-training-rows is what is done without it now: --without-rows leaves them out.")
    check_folder(output)
    check_not_overwritten(output, train, ranges)
    with json_instead(json) as answer, open_training_table(train, target, drop or []) as table:
        loss, reason = choose_loss(loss, table.values, target)
        task = LOSSES[loss].task
        kind = BoundedClassifier if task == "classification" else BoundedRegressor
        estimator = kind(
            loss,
            alpha=read_alpha(alpha),
            l1_ratio=l1_ratio,
            fit_intercept=not no_intercept,
            certificate=None if certificate == "none" else certificate,
            intervals=Intervals(interval_kinds(table.X, intervals, ranges), interval_level),
            scale=None if scale == "none" else scale,
            uncertainty=uncertainty,
        )
        of_losses = {"hinge_width": hinge_width, "huber_delta": huber_delta}
        estimator.set_params(**{name: of_losses[name] for name in loss_parameters(task)})
        start = time.perf_counter()
        with working("Fitting"):
            estimator.fit(table.source, table.target)
        with working("Proving bounds"):
            _ = estimator.certificate_
        seconds = time.perf_counter() - start
        saved = as_saved(estimator, rows=not without_rows)
        where = None if str(train) == STANDARD else str(train)
        save(saved, output, {"target": target, "train": where, "reading": current_reading().meaning})
        say(f"{shown_name(train)}: {table.n_rows} rows, {table.X.num_columns} features, target {target!r}")
        say(f"Loss: {loss} ({reason}){', without intercept' if no_intercept else ''}")
        show_holes(estimator, table)
        missing = sum(table.holes.values())
        if isinstance(uncertainty, Budget) and missing and (uncertainty.cells or 0) > missing:
            note(f"--budget {budget}: only {missing} missing values are there, so all may differ, as in any filling.")
        answer.update(rows=table.n_rows, features=table.X.column_names, target=target, loss=loss)
        answer.update(alpha=estimator.alpha_, missing=table.holes, model=str(output))
        fitted = Fit(estimator, table, seconds, saved, not without_rows)
        show_training(fitted, SameCommand(context), target, answer, tries_more=not json)
        say_what_is_kept(saved)
        say(f"Saved to {output}. Next: ipub predict {output} TABLE", "bold")
