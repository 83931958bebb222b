"""`ipub check`: one promise after another on the screen, each as soon as it is known, then a verdict."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ipub.app.files.reading import current_reading
from ipub.app.predictions import cell_of, percent
from ipub.app.screen import note, say
from ipub.certificates import ANY_FILLING
from ipub.estimators.imputation_check import report_of
from ipub.estimators.promise_by_promise import Checked, Promise, Skipped, imputation_promises
from ipub.promises import Draws

SAFE = 0.9
"""Share of the predictions that are to be certain under the promise that is advised."""

ANY = "any filling"
"""Name of the strongest promise."""
NAME, NUMBER = 18, 9
"""Widths of the columns."""


def show_promises(
    checked: Checked,
    draws: Draws,
    *,
    is_complete: NDArray[np.bool_],
    is_quick: bool,
    seconds: float,
    fit_command: str,
) -> dict[str, Any]:
    """Print a line for each promise as soon as it is known, then what they say, and the command to go on with.

    What would take longer than is left of so many seconds is skipped. The same is returned. Where not all rows
    `is_complete`, the share of certain predictions is printed of these rows too.
    """
    is_mixed = bool(is_complete.any() and not is_complete.all())
    skipped = []
    n = len(checked.rows)
    found: list[Promise] = []
    for each in imputation_promises(
        checked, shares=(0.01, 0.05, 0.2)[::-1], draws=draws, is_quick=is_quick, seconds=seconds, verbose=1
    ):
        if isinstance(each, Skipped):
            skipped.append({"promise": each.name, "why": each.why})
            say(f"{each.name:<{NAME}} {each.why}; --seconds gives more time")
            continue
        if not found:
            shares = [] if each.certain is None else ["certain", *(["complete"] if is_mixed else [])]
            share = "".join(f" {name:>{NUMBER}}" for name in shares)
            say(f"{'promise':<{NAME}}{share} {'width':>{NUMBER}} {'seconds':>{NUMBER}}")
        found.append(each)
        say(_line(each, is_complete if is_mixed else None))
    report = report_of(checked, found)
    for sentence in _notes(found):
        note(sentence)
    verdict = _verdict(report.plain, report.promises, n)
    following = f"{fit_command}{_option(report.promises, draws, is_quick=is_quick)}"
    say(verdict)
    say(f"Next: {following}", "bold")
    promises = [
        {
            "promise": each.name,
            "proved": each.is_proved,
            "certain": None if each.certain is None else int(each.certain.sum()),
            "certain_of_complete_rows": None if each.certain is None else int(each.certain[is_complete].sum()),
            "median_width": each.width,
            "sentence": each.sentence,
        }
        for each in found
    ]
    return {
        "rows": n,
        "complete_rows": int(is_complete.sum()),
        "promises": promises,
        "skipped": skipped,
        "verdict": verdict,
        "next": following,
    }


def _line(promise: Promise, is_complete: NDArray[np.bool_] | None) -> str:
    cells = [] if promise.certain is None else [percent(promise.certain.mean())]
    if promise.certain is not None and is_complete is not None:
        cells.append(percent(promise.certain[is_complete].mean()))
    cells += [cell_of(promise.width, None).plain, f"{promise.seconds:.1f}"]
    line = f"{promise.name:<{NAME}} " + " ".join(f"{cell:>{NUMBER}}" for cell in cells)
    if _is_as_any_filling(promise):
        return f"{line}  as any filling"
    return line if promise.is_proved else f"{line}  unproved: a sample"


def _is_as_any_filling(promise: Promise) -> bool:
    """Whether nothing could be proved of a budget, so that its bounds are those of any filling."""
    return promise.name != ANY and promise.sentence == ANY_FILLING


def _notes(found: list[Promise]) -> list[str]:
    """Return the notes of all promises, each with the names of those that it is about."""
    about: dict[str, list[str]] = {}
    for each in found:
        if each.note and each.is_proved:
            about.setdefault(each.note, []).append(each.name)
    return [f"{', '.join(map(repr, names))}: {text}" for text, names in about.items()]


def _advised(promises: tuple[Promise, ...]) -> Promise:
    """Return the strongest promise under which most predictions are certain; else the one with the most."""
    shares = [0.0 if each.certain is None else float(each.certain.mean()) for each in promises]
    safe = (each for each, share in zip(promises, shares, strict=True) if share >= SAFE)
    return next(safe, promises[shares.index(max(shares))])


def _verdict(plain: Promise | None, promises: tuple[Promise, ...], n: int) -> str:
    if not promises:
        return "Nothing was proved in the time there was: --seconds gives more, a larger --alpha needs less."
    best = _advised(promises)
    if best.certain is None:
        widths = ", ".join(f"{cell_of(each.width, None).plain} ({each.name})" for each in promises)
        return f"Median width of the bounds of {n} predictions: {widths}."
    certain = int(best.certain.sum())
    if certain:
        return f"{certain} of {n} predictions are certain under the promise '{best.name}'. {best.sentence}"
    disagree = 0 if plain is None or plain.certain is None else n - int(plain.certain.sum())
    if disagree > n // 2:
        return (
            f"The missing values decide: {disagree} of {n} predictions change between fillings drawn at random. No "
            "bound can prove them certain; measure missing values, or leave out columns that have many."
        )
    return (
        f"None of {n} predictions is proved certain, though the fillings that were drawn agree on {n - disagree}. A "
        "stronger penalty gives narrower bounds: try a larger --alpha, and another --seed for its draws."
    )


def _option(promises: tuple[Promise, ...], draws: Draws, *, is_quick: bool) -> str:
    """Return the option of `ipub fit` that gives the advised promise."""
    # Others than were looked at, which a choice that depends on them would spoil.
    fresh = f" --draws {draws.n_draws} --seed {draws.random_state + 1}"
    if not promises:
        return fresh
    best = _advised(promises)
    if best.name == f"{draws.n_draws} draws":
        return fresh
    if best.name.endswith("% differ"):
        return f" --budget {best.name.split()[0]}%"
    if best.name == "1 hole differs":
        return " --budget 1"
    few = best.certain is not None and best.certain.mean() < SAFE
    return fresh if is_quick and few else ""


def fit_command(train: Any, target: str, options: dict[str, Any]) -> str:
    """Return the command that saves a model of the same table."""
    import shlex

    words = ["ipub", "fit", str(train), "--target", target]
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            if each is not None:
                words += [name, str(each)]
    return shlex.join([*words, *current_reading().words()])
