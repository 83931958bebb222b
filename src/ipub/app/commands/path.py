"""`ipub path`: what each strength of the penalty gives."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ipub.app.screen import json_instead, new_table, out, say, say_command, working


def path(
    train: Annotated[Path, typer.Argument(help="Training table: .csv, .tsv (or with .gz) or .parquet.")],
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column to predict.")],
    test: Annotated[
        Path | None, typer.Option(help="Table to bound, with or without the target; else training rows are held out.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help='Write .csv, .tsv or .parquet; "-" prints CSV.')
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw the path: .png, .pdf or .svg.")] = None,
    alphas: Annotated[int, typer.Option(min=2, help="How many strengths, evenly spaced in their logarithms.")] = 10,
    loss: Annotated[str, typer.Option(help="auto (by the values of the target), or a loss as for ipub fit.")] = "auto",
    scale: Annotated[str, typer.Option(help="Scale columns inside: none, standard or minmax.")] = "standard",
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the rows that are held out.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what each strength of the penalty gives: how good the model is, and how many predictions are certain.

    A stronger penalty gives narrower bounds and a less accurate model. accuracy (r2 for numbers) is that of the model
    on the rows that are bounded; guaranteed is what the model of every filling attains on them at least.

    Examples
    --------
    ipub path train.csv --target income
    ipub path train.csv --target income --test test.csv --figure path.png
    """
    import numpy as np

    from ipub.app.check import fit_command
    from ipub.app.choices import check_choice, choose_loss
    from ipub.app.files import tables
    from ipub.app.files.atomic import check_folder
    from ipub.app.files.standard_input import STANDARD, shown_name
    from ipub.app.pictures import check_picture, save_picture
    from ipub.app.predictions import percent
    from ipub.app.tested_rows import split_rows
    from ipub.app.training_tables import feature_names, in_memory
    from ipub.estimators import BoundedClassifier, BoundedRegressor
    from ipub.estimators.penalty_paths import penalty_path
    from ipub.losses import LOSSES

    is_piped = str(output) == STANDARD
    if output is not None and not is_piped:
        tables.table_suffix(output)
        check_folder(output)
        tables.check_not_overwritten(output, train, test)
    if figure is not None:
        check_picture(figure)
    check_choice("--scale", scale, ["none", "standard", "minmax"])
    with json_instead(json or is_piped, prints=json) as answer:
        whole = tables.read_table(train)
        read = in_memory(whole, feature_names(whole.column_names, train, target, drop or []), train, target)
        X, y = read.X, read.y
        given = loss
        loss, _ = choose_loss(loss, y, target)
        is_classifier = LOSSES[loss].task == "classification"
        X, y, rows = split_rows(X, y, test, target, seed)
        X_test, y_test = rows.X, rows.y
        kind = BoundedClassifier if is_classifier else BoundedRegressor
        estimator = kind(loss, scale=None if scale == "none" else scale)
        with working(f"Bounding {alphas} models"):
            found = penalty_path(estimator, X, y, X_test, y_test, alphas=alphas)
        columns = found.columns()
        say(f"{shown_name(train)}: {len(y)} rows to train on, target {target!r}; {rows.where}")
        titles = {"guaranteed_score": "guaranteed", "width": "median width of scores"}
        shown = new_table(*(titles.get(name, name) for name in columns))
        for k in range(len(found.alphas)):
            shown.add_row(
                *(
                    percent(float(values[k])) if name == "certain" else f"{values[k]:.4g}"
                    for name, values in columns.items()
                )
            )
        out.print(shown)
        if found.one_class is not None and found.one_class.any():
            least = found.alphas[found.one_class].min()
            say(f"From alpha {least:.4g} on every row is predicted to be of one class: certain means no more there.")
        if y_test is None:
            say(f"{test} has no column {target!r}, so the loss is that of the training rows, and there is no score.")
        say(found.promise)
        answer.update(train=str(train), target=target, promise=found.promise, **columns)
        if output is not None:
            tables.write_pieces(output, [{name: np.asarray(values) for name, values in columns.items()}])
            say(f"Written to {output}")
        if figure is not None:
            from ipub.plots import plot_penalty_path

            save_picture(figure, lambda: plot_penalty_path(found))
            say(f"Figure saved to {figure}")
        if found.guaranteed_score is not None and found.guaranteed_score.max() > 0.0:
            tells_apart = np.ones(len(found.alphas), bool) if found.one_class is None else ~found.one_class
            guaranteed = np.where(tells_apart, found.guaranteed_score, -np.inf)
            if guaranteed.max() <= 0.0:
                say("No prediction is certain and right where not every row is predicted to be of one class.", "bold")
                return
            best = f"{found.alphas[guaranteed.argmax()]:.4g}"
            of_these = "" if tells_apart[found.guaranteed_score.argmax()] else ", of those that tell classes apart"
            most = "Most predictions are certain and right" if is_classifier else "The guaranteed R2 is largest"
            say(f"{most} with alpha {best}{of_these}. To save a model with it:", "bold")
            options = {
                "--alpha": best,
                "--loss": None if given == "auto" else given,
                "--scale": None if scale == "standard" else scale,
                "--drop": drop,
            }
            say_command(fit_command(train, target, options))
