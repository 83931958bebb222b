"""What `ipub fit` says of the penalty: the one that was used, beside that of the other rule, with their prices."""

from __future__ import annotations

import math
import time
import warnings
from contextlib import suppress
from typing import Any

from sklearn.base import clone
from typer import BadParameter

from ipub.app.predictions import median_width, percent, sampled_predictions, share_certain
from ipub.app.screen import new_table, out, say, working
from ipub.app.training_tables import TrainingTable
from ipub.estimators.fitted_state import as_saved
from ipub.training.alpha_choice import LEAST, ONE_ERROR, RULES, AlphaChoice

PATIENCE = 3.0
"""Where `fit` took more seconds than that, the model of the other penalty is not fitted."""

NAMES = {LEAST: "least loss", ONE_ERROR: "one standard error"}


def read_alpha(text: str) -> float | str:
    """Return the parameter `alpha` of the estimators."""
    text = text.strip()
    if text in RULES:
        return text
    with suppress(ValueError):
        if 0.0 < float(text) < math.inf:
            return float(text)
    raise BadParameter(f"'{text}' is neither {' nor '.join(RULES)} nor a number above 0.", param_hint="'--alpha'")


def penalty_sentence(estimator: Any) -> str:
    """Say which penalty was used, and why."""
    choice: AlphaChoice | None = estimator.alpha_choice_
    if choice is not None:
        how = f"{choice.reason}; --alpha sets it"
    else:
        how = "the default; --alpha sets it" if isinstance(estimator.alpha, str) else "as requested"
    return f"Penalty: alpha {estimator.alpha_:g}, {how}"


def show_penalty(
    estimator: Any, table: TrainingTable, seconds: float, columns: dict[str, Any] | None, with_rows: bool
) -> None:
    """Show the penalties of both rules side by side: held-out loss and accuracy, certain predictions, and width.

    `columns` are predictions of the fitted model; those of the other penalty are of the same rows, by a fit that is
    made only if that of the model took few `seconds`, as a model file `with_rows`, or without, gives it back.
    """
    choice: AlphaChoice | None = estimator.alpha_choice_
    if choice is None:
        return
    rows = {LEAST: choice.least, ONE_ERROR: choice.one_error}
    if choice.least == choice.one_error:
        say("No stronger penalty has a held-out loss within one standard error of the least and as good predictions")
        return
    found = {choice.rule: columns}
    other = LEAST if choice.rule == ONE_ERROR else ONE_ERROR
    if columns is not None and seconds <= PATIENCE:
        with warnings.catch_warnings(), working("Fitting with the other penalty"):
            warnings.simplefilter("ignore")  # said once, of the model that is saved
            start, alpha = time.perf_counter(), float(choice.alphas[rows[other]])
            fitted = clone(estimator).set_params(alpha=alpha, verbose=0).fit(table.source, table.target)
            fitted = as_saved(fitted, with_rows)
            found[other] = sampled_predictions(fitted, table.X, time.perf_counter() - start)
    score = "R2" if choice.is_regression else "accuracy"
    of_bounds = [] if columns is None else ["median width"] if choice.is_regression else ["certain", "median width"]
    shown = new_table("penalty", "alpha", "held-out loss", score, *of_bounds, left=["penalty"])
    for rule in (LEAST, ONE_ERROR):
        k = rows[rule]
        cells = [f"{choice.alphas[k]:g}", f"{choice.loss[k]:.4g}", f"{choice.accuracy[k]:.3f}"]
        cells += _of_bounds(found.get(rule), len(of_bounds))
        shown.add_row(NAMES[rule], *cells)
    out.print(shown)
    if columns is not None and seconds > PATIENCE:
        say(f"The other penalty was not tried, since the fit took {seconds:.0f} s: --alpha {other} fits with it")


def _of_bounds(columns: dict[str, Any] | None, n_cells: int) -> list[str]:
    """Return the share of certain predictions, if there are classes, and the median width."""
    if columns is None:
        return ["-"] * n_cells
    share, width = share_certain(columns), f"{median_width(columns):.4g}"
    return [width] if share is None else [percent(share), width]
