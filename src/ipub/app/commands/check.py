"""`ipub check`: under which promise the predictions of a table are safe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ipub.app.options import DRAWS_FOR_99, FILLING_NAMES, MOST_SEED, Alpha
from ipub.app.screen import json_instead, say, working


def check(
    train: Annotated[Path, typer.Argument(help="Training table: .csv, .tsv (or with .gz) or .parquet.")],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    test: Annotated[
        Path | None, typer.Option(help="Table whose rows are looked at; else training rows drawn at random.")
    ] = None,
    imputer: Annotated[str, typer.Option(help=f"How holes are filled in: {', '.join(FILLING_NAMES)}.")] = "middle",
    alpha: Alpha = "1se",
    scale: Annotated[str, typer.Option(help="Scale columns inside: none, standard or minmax.")] = "standard",
    draws: Annotated[int, typer.Option(min=2, help=f"How many fillings are drawn: {DRAWS_FOR_99}.")] = 37,
    rows: Annotated[int, typer.Option(min=1, help="How many rows are looked at, at most.")] = 100,
    quick: Annotated[bool, typer.Option("--quick", help="Only plain draws, which prove nothing, and any filling.")] = (
        False
    ),
    seconds: Annotated[float, typer.Option(min=0.0, help="What would take longer is skipped.")] = 25.0,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of the draws.")] = 0,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, at the end.")] = False,
) -> None:
    """Check whether predictions are safe with an imputation: under draws, under budgets, under any filling.

    Each line is printed as soon as it is known; what would take too long is skipped.

    Examples
    --------
    ipub check train.csv --target income
    ipub check train.csv --target income --test test.csv --imputer mean
    ipub check train.csv --target income --quick
    """
    import numpy as np

    from ipub.app.check import fit_command, show_promises
    from ipub.app.choices import check_choice, choose_loss
    from ipub.app.files import tables
    from ipub.app.files.standard_input import shown_name
    from ipub.app.penalty_screen import penalty_sentence, read_alpha
    from ipub.app.predictions import drawn_rows
    from ipub.app.training_tables import feature_names, in_memory
    from ipub.estimators import BoundedClassifier, BoundedRegressor
    from ipub.estimators.promise_by_promise import Checked
    from ipub.losses import LOSSES
    from ipub.promises import Draws

    check_choice("--imputer", imputer, list(FILLING_NAMES))
    check_choice("--scale", scale, ["none", "standard", "minmax"])
    with json_instead(json) as answer:
        whole = tables.read_table(train)
        read = in_memory(whole, feature_names(whole.column_names, train, target, drop or []), train, target)
        X, y = read.X, read.y
        if test is None and not tables.holes_of(X).any():
            nothing = "Nothing is missing: there is nothing to check."
            say(nothing)
            answer.update(train=str(train), target=target, verdict=nothing)
            return
        loss, reason = choose_loss("auto", y, target, has_option=False)
        kind = BoundedClassifier if LOSSES[loss].task == "classification" else BoundedRegressor
        # Cross-validation comes first, without certificates: the penalty is the same under all promises.
        picked = kind(loss, alpha=read_alpha(alpha), scale=None if scale == "none" else scale, certificate=None)
        with working("Comparing penalties"):
            picked.fit(X, y)
        tested, looked_at = X.take(drawn_rows(X.num_rows)[:rows]), "training rows, drawn at random,"
        if test is not None:
            table = tables.read_table(test)
            tables.check_names(X.column_names, table.column_names, str(test))
            tested = tables.features_of(table, X.column_names, test, "The training table has numbers or text there.")
            tested, looked_at = tested.slice(0, rows), f"rows of {test}"
        is_complete = np.asarray(~tables.holes_of(tested).any(axis=1))
        say(f"{shown_name(train)}: {len(y)} rows, {X.num_columns} features, {tables.holes_of(X).sum()} missing cells")
        say(f"Loss: {loss} ({reason})")
        say(penalty_sentence(picked))
        filling = "middle of its interval" if imputer == "middle" else f"{imputer} of its column"
        say(f"Each missing value is filled in with the {filling}; {len(is_complete)} {looked_at} are looked at")
        if is_complete.any() and not is_complete.all():
            say(f"{is_complete.sum()} of them have no missing values of their own: complete is the share of these")
        estimator = kind(loss, alpha=picked.alpha_, scale=picked.scale)
        options = {
            "--alpha": None if alpha == "1se" else alpha,
            "--scale": None if scale == "standard" else scale,
            "--drop": drop,
        }
        answer.update(train=str(train), target=target, loss=loss, alpha=picked.alpha_)
        answer |= show_promises(
            Checked.of(estimator, X, y, tested, imputer=imputer, most_rows=rows),
            Draws(n_draws=draws, random_state=seed),
            is_complete=is_complete,
            is_quick=quick,
            seconds=seconds,
            fit_command=fit_command(train, target, options),
        )
