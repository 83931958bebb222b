"""Exact models that several tests ask for, computed once for all workers of a run.

A minimiser depends on the training problem alone, and every one that an oracle returns has been verified exactly,
whatever code of the package is replaced meanwhile. So it may be used again wherever the same problem comes up: before
and after an error is planted, for another certificate, in another worker. Nothing is kept for the next run.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from flint import fmpq, fmpz

from support.oracles.rationals import rational, rational_rows, rationals


class Model(Protocol):
    """A minimiser as oracles return it: rational weights, their error, and those that are zero."""

    w: list[fmpq]
    error: fmpq
    zeros: frozenset[int]


Minimise = TypeVar("Minimise", bound=Callable[..., Any])

_folder: Path | None = None


def use_folder(folder: Path | None) -> None:
    """Share models through a folder, which all workers of one run have in common; None: with no other process."""
    global _folder
    _folder = folder


def computed_once(make: Callable[[list[fmpq], fmpq, frozenset[int]], Model]) -> Callable[[Minimise], Minimise]:
    """Make an oracle remember the models it has found by all that they depend on; `make` makes one of its parts."""

    def decorate(minimise: Minimise) -> Minimise:
        here: dict[str, Model] = {}

        @functools.wraps(minimise)
        def remembering(X, y, weight, loss, lam, kappa):
            name = problem_name(minimise.__name__, X, y, weight, loss, lam, kappa)
            if name not in here:
                stored = None if _folder is None else _read(_folder / name)
                here[name] = minimise(X, y, weight, loss, lam, kappa) if stored is None else make(*stored)
                if _folder is not None and stored is None:
                    _write(_folder / name, here[name])
            return here[name]

        return remembering

    return decorate


def problem_name(oracle: str, X, y, weight, loss, lam: float, kappa: float) -> str:
    """Return a name that no other problem has: a hash of every number as an exact rational."""
    numbers = [rational_rows(X), rationals(y), None if weight is None else rationals(weight)]
    text = repr([oracle, repr(loss), numbers, rational(lam), rational(kappa)])
    return hashlib.sha256(text.encode()).hexdigest()


def _read(path: Path) -> tuple[list[fmpq], fmpq, frozenset[int]] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return [_fraction(value) for value in found["w"]], _fraction(found["error"]), frozenset(found["zeros"])


def _write(path: Path, model: Model) -> None:
    """Write a model in one step: another worker sees all of it or nothing."""
    parts = {"w": [str(value) for value in model.w], "error": str(model.error), "zeros": sorted(model.zeros)}
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        json.dump(parts, file)
    os.replace(file.name, path)


def _fraction(text: str) -> fmpq:
    numerator, _, denominator = text.partition("/")
    return fmpq(fmpz(numerator), fmpz(denominator or "1"))
