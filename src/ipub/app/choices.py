"""Options that are one of several, the loss that a target asks for, and what the bounds are about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ipub.app.files import tables
from ipub.app.files.tables import TableError
from ipub.losses import LOSSES
from ipub.promises import Budget, Draws
from ipub.promises.draws import IMPUTERS
from ipub.tables.frames import is_number_in_text

MOST_CLASSES = 100
"""Different values of a target, at most, that are taken for classes: each has a model of its own."""

FEW_NUMBERS = 10
"""Different whole numbers of a target, at most, that may be classes: the screen says how to take them for such."""

LISTED = 5
"""Classes of one row that are named, at most."""


def check_choice(option: str, value: str, choices: list[str]) -> None:
    """Raise an error that lists the choices if the value of an option is none of them."""
    if value not in choices:
        raise TableError(f"{option} {value} is not known: use {', '.join(choices)}.")


def interval_kinds(X: pa.Table, intervals: str, ranges: Path | None) -> Any:
    """Return where missing values lie: a rule, or a rule or range for each column of numbers."""
    if ranges is None:
        return intervals
    numbers = tables.numbers_of(X).column_names
    return {**dict.fromkeys(numbers, intervals), **tables.read_ranges(ranges, X.column_names, numbers)}


def choose_loss(loss: str, y: NDArray[Any], target: str, *, has_option: bool = True) -> tuple[str, str]:
    """Return the loss and why it was taken; with the remedy if the command has `--loss`."""
    values = np.unique(y)
    is_number = y.dtype.kind in "iuf"
    if len(y) == 1:
        raise TableError("The table has one row: at least two are needed, with different targets.")
    if len(values) == 1:
        raise TableError(f"The target {target!r} is {values[0]} in every row: there is nothing to learn.")
    if loss == "auto":
        if len(values) == 2 and (not is_number or (values % 1 == 0).all()):
            return "log_loss", f"the target has two values, {values[0]} and {values[1]}"
        if is_number:
            reason = f"the target is a number with {len(values)} different values"
            may_be_classes = has_option and len(values) <= FEW_NUMBERS and (values % 1 == 0).all()
            return "squared_error", reason + ("; if they are classes: --loss log_loss" if may_be_classes else "")
        _refuse_numbers_in_text(y, target)
        loss, reason = "log_loss", f"the target has {len(values)} classes: one model for each class against the others"
        once = [str(value) for value in values if np.count_nonzero(y == value) == 1]
        if 0 < len(once) < len(values):
            reason += f"; {', '.join(once[:LISTED])} {'occurs' if len(once) == 1 else 'occur'} once: is it misspelled?"
    else:
        reason = "as requested"
    if LOSSES[loss].task == "classification" and (
        len(values) > MOST_CLASSES or (y.dtype.kind == "f" and len(values) > 2 and (values % 1 != 0).any())
    ):
        raise TableError(
            f"The target {target!r} has {len(values)} different values, and --loss {loss} is for classes: use "
            f"squared_error or huber for numbers, or a target with at most {MOST_CLASSES} classes."
        )
    if LOSSES[loss].task == "regression" and not is_number:
        _refuse_numbers_in_text(y, target)
        raise TableError(
            "--loss {loss} needs a target of numbers, but {column} is {value} in {row}: use log_loss or a hinge.",
            loss=loss,
            column=target,
            value=y[0],
            row=0,
        )
    return loss, reason


def _refuse_numbers_in_text(y: NDArray[Any], target: str) -> None:
    """Raise an error that names the first text among targets that are mostly numbers written as text."""
    is_number = np.array([is_number_in_text(value) for value in y.tolist()])
    if is_number.mean() > 0.5:
        first = int(np.argmin(is_number))
        raise TableError(
            "The target {column} holds numbers, but {value!r} in {row}: correct it or remove the row, or give --loss "
            "log_loss if they are classes.",
            column=target,
            value=str(y[first]),
            row=first,
        )


OPTIONS = {"wrong_cells": "--wrong-cells", "labels": "--wrong-labels", "rows": "--dropped-rows"}
"""Options for what may differ beside missing values, by the parameter of `Budget`."""


def choose_uncertainty(
    budget: str,
    kinds: dict[str, Any],
    draws: int,
    imputer: str | None,
    draw_radius: float | None,
    seed: int,
) -> Any:
    """Return the parameter `uncertainty` that the options of `ipub fit` ask for.

    `kinds` are parameters of a `Budget`: of observed cells, labels and rows.
    """
    given = {OPTIONS[name]: value for name, value in kinds.items() if name in OPTIONS and value}
    if budget:
        given = {"--budget": budget, **given}
    if given and draws > 0:
        raise TableError(f"{next(iter(given))} and --draws are different promises: choose one of them.")
    if kinds["precision"] is not None and not kinds["wrong_cells"]:
        raise TableError("--wrong-by says how wrong observed cells may be: give --wrong-cells as well.")
    for option, value in (("--imputer", imputer), ("--draw-radius", draw_radius), ("--seed", seed or None)):
        if value is not None and not draws:
            raise TableError(f"{option} is about draws of an imputer: give --draws as well.")
    if draws == 1:
        raise TableError("--draws 1 says nothing about other fillings: give at least 2.")
    if draws:
        imputer, radius = imputer or IMPUTERS[0], 0.1 if draw_radius is None else draw_radius
        check_choice("--imputer", imputer, list(IMPUTERS))
        return Draws(imputer, n_draws=draws, radius=radius, random_state=seed)
    return Budget(**_budget(budget), **kinds) if given else "worst"


def _budget(text: str) -> dict[str, Any]:
    """Read "5%" or "12"."""
    text = text.strip()
    if not text:
        return {}
    try:
        budget = {"share": float(text[:-1]) / 100.0} if text.endswith("%") else {"cells": int(text)}
    except ValueError:
        raise TableError(f"--budget {text} is no number of cells: give one like 12, or a share like 5%.") from None
    if not (0.0 <= budget.get("share", 0.0) <= 1.0 and budget.get("cells", 0) >= 0):
        raise TableError(f"--budget {text} is out of range: give a number of cells like 12, or 0% to 100%.")
    return budget
