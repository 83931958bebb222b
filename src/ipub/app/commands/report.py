"""`ipub report`: one page about what missing values can do to predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import typer

from ipub.app.options import LOSS_NAMES, MOST_SEED, Alpha
from ipub.app.screen import json_instead, say, working


def report(
    context: typer.Context,
    train: Annotated[Path, typer.Argument(help="Training table: .csv, .tsv (or with .gz) or .parquet.")],
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column to predict.")],
    test: Annotated[
        Path | None, typer.Option(help="Table to report on, with or without the target; else training rows held out.")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write it: .html, .md (Markdown) or .json.")
    ] = Path("report.html"),
    alpha: Alpha = "1se",
    loss: Annotated[str, typer.Option(help="auto (by the values of the target), or a loss as for ipub fit.")] = "auto",
    scale: Annotated[str, typer.Option(help="Scale columns inside: none, standard or minmax.")] = "standard",
    intervals: Annotated[
        str,
        typer.Option(help="Where missing values lie: quantile, observed, or conditional (by the row's other values)."),
    ] = "quantile",
    ranges: Annotated[Path | None, typer.Option(help="TOML file with lines like age = [0, 120].")] = None,
    reasons: Annotated[
        Path | None, typer.Option(help='TOML file that says why values are missing: age = "not asked".')
    ] = None,
    budget: Annotated[
        str, typer.Option(help="Bound tables in which so many holes differ from the filled-in ones: 5% or 12.")
    ] = "",
    groups: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of groups, for metrics of each of them.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="Column that names the rows; the model leaves it out.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of the rows that are held out.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print what is in short as JSON.")] = False,
) -> None:
    """Write one page about what the missing values of a table can do to predictions, to read and to send.

    It says which predictions are certain, what is assumed, how many missing values may differ before one changes,
    which of them matter, and how good the model is in any case. The file needs no network. Of the training table it
    shows which values are missing and the range of each column, and no other value.

    Examples
    --------
    ipub report train.csv --target income
    ipub report train.csv --target income --test test.csv --id person
    ipub report train.csv --target income --groups sex --reasons reasons.toml
    """
    from ipub.app.advice import SameCommand
    from ipub.app.choices import check_choice, choose_loss, choose_uncertainty, interval_kinds
    from ipub.app.files import tables
    from ipub.app.penalty_screen import penalty_sentence, read_alpha
    from ipub.app.tested_rows import split_rows
    from ipub.app.training_tables import feature_names, in_memory
    from ipub.estimators import BoundedClassifier, BoundedRegressor
    from ipub.losses import LOSSES
    from ipub.reports.asked import Options
    from ipub.reports.document import Report, check_path
    from ipub.reports.sections.settings import file_digest
    from ipub.reports.summary import summarize
    from ipub.tables.holes import Rule
    from ipub.training.reading.intervals import Intervals

    check_path(output)
    tables.check_not_overwritten(output, train, test, ranges, reasons)
    check_choice("--loss", loss, ["auto", *LOSS_NAMES])
    check_choice("--scale", scale, ["none", "standard", "minmax"])
    check_choice("--intervals", intervals, list(get_args(Rule)))
    nothing_else = {"wrong_cells": 0, "precision": None, "labels": 0, "rows": 0}
    with json_instead(json) as answer:
        whole = tables.read_table(train)
        dropped = [*(drop or []), *([] if id_column not in whole.column_names else [str(id_column)])]
        read = in_memory(whole, feature_names(whole.column_names, train, target, dropped), train, target)
        loss, reason = choose_loss(loss, read.y, target)
        X, y, rows = split_rows(read.X, read.y, test, target, seed)
        of_rows = {name: rows.values(whole, name, test or train) for name in (groups, id_column) if name is not None}
        estimator = (BoundedClassifier if LOSSES[loss].task == "classification" else BoundedRegressor)(
            loss,
            alpha=read_alpha(alpha),
            scale=None if scale == "none" else scale,
            intervals=Intervals(interval_kinds(X, intervals, ranges)),
            uncertainty=choose_uncertainty(budget, nothing_else, 0, None, None, 0),
        )
        said = {} if reasons is None else tables.read_reasons(reasons, X.column_names)
        with working("Fitting"):
            estimator.fit(X, y)
        say(f"{train}: {len(y)} rows to train on, target {target!r}; {rows.where}")
        say(f"Loss: {loss} ({reason})")
        say(penalty_sentence(estimator))
        files = {"training file": train, "test file": test, "ranges file": ranges}
        with working("Making the report"):
            options = Options(
                rows.y,
                groups=of_rows.get(groups or ""),
                labels=rows.labels(of_rows.get(id_column or "")),
                reasons=said,
                title=title,
                context={
                    "target": target,
                    "command": SameCommand(context).with_options(),
                    **{f"{name}, SHA-256": f"{path} {file_digest(path)}" for name, path in files.items() if path},
                },
                training_numbers=(rows.trained_on + 1).tolist(),
            )
            made = Report(summarize(estimator, rows.X, options))
            made.save(output)
        headline = made.summary["headline"]
        say(headline["sentence"], "bold")
        if headline["promise"] is not None:
            say(headline["promise"])
        say(f"Report saved to {output}")
        answer.update(train=str(train), target=target, rows=rows.X.num_rows, report=str(output), **headline)
