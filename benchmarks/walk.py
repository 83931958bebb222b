"""The walk of one row from a CSV file to its interval: files of the package that it visits, and changes of file.

A reader who follows the program visits the same files. A small table with a hole is written to a file, `ipub fit` and
`ipub predict` run in this process, and every call of a function of the package is counted; a change of file is a call
into another file than that of the call before. So is a fit of 200 x 4 numbers, one in fifty missing, and what it
takes to predict one row after it; beside them the same of scikit-learn's logistic regression, counted in its files.
Then the size of the package: files, lines of the largest one, functions of more than 60 lines.
"""

from __future__ import annotations

import ast
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import sklearn
from rich.console import Console
from sklearn.linear_model import LogisticRegression

import ipub
from benchmarks.lines import Lines
from ipub import BoundedClassifier

PACKAGE = Path(ipub.__file__).parent
LONG_FUNCTION = 60
LEAVES = ("rounding.py", "linalg.py", "parallel.py")
"""Files of small functions that every other file calls, as it calls NumPy."""


def run(console: Console) -> None:
    seen = _walk()
    headers = "files visited", "changes of file", "without calls into " + ", ".join(LEAVES)
    lines = Lines(console, "one row from CSV to interval: ipub fit, ipub predict", *headers)
    lines.add(f"{len(seen.files)}", f"{seen.changes:,}", f"{seen.changes_between_ideas:,}")
    lines = Lines(console, "changes of file", "method".ljust(38), "fit of 200 x 4", "predict of one row")
    for name, fit, predict in _fits_and_predictions():
        lines.add(name, f"{fit:,}", f"{predict:,}")
    sources = {path: path.read_text() for path in PACKAGE.rglob("*.py")}
    sizes = {path: len(source.splitlines()) for path, source in sources.items()}
    longest = max(sizes, key=lambda path: sizes[path])
    long_functions = [
        (path, node.name)
        for path, source in sources.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and _is_long(node)
    ]
    lines = Lines(
        console, "size of the package", "files", "lines", "largest file", f"functions over {LONG_FUNCTION} lines"
    )
    where = f"{longest.relative_to(PACKAGE)} ({sizes[longest]})"
    lines.add(f"{len(sizes)}", f"{sum(sizes.values()):,}", where, f"{len(long_functions)}")
    for path, name in sorted(long_functions):
        console.print(f"over {LONG_FUNCTION} lines: {path.relative_to(PACKAGE)}: {name}")


def _is_long(node: ast.FunctionDef) -> bool:
    """Whether a function has too many lines, its docstring not counted."""
    first, last = node.body[0], node.end_lineno or node.lineno
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = (first.end_lineno or 0) - first.lineno + 1 if is_docstring else 0
    return last - node.lineno + 1 - docstring > LONG_FUNCTION


def _walk() -> _Seen:
    from ipub.app.cli import app

    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    rows = [[*(f"{value:.3f}" for value in x), "yes" if x[0] > 0.0 else "no"] for x in X]
    rows[0][1] = ""
    with tempfile.TemporaryDirectory() as folder:
        train, test, model = (Path(folder) / name for name in ("train.csv", "test.csv", "model.ipub"))
        header = "a,b,c,target"
        train.write_text("\n".join([header, *(",".join(row) for row in rows)]))
        test.write_text("\n".join([header, ",".join(rows[1])]))
        seen = _Seen()
        with open(os.devnull, "w") as nowhere:
            out, sys.stdout = sys.stdout, nowhere
            try:
                for command in (
                    ["fit", str(train), "--target", "target", "-o", str(model)],
                    ["predict", str(model), str(test)],
                ):
                    sys.setprofile(seen)
                    app(command, standalone_mode=False)
                    sys.setprofile(None)
            finally:
                sys.setprofile(None)
                sys.stdout = out
    return seen


def _fits_and_predictions() -> list[tuple[str, int, int]]:
    """Return changes of file of a fit and of a prediction of one row, of this package and of scikit-learn."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y, filled, row = X[:, 0] + X[:, 1] > 0.0, X.copy(), X[:1].copy()
    X[rng.random(X.shape) < 0.02] = np.nan
    ours, theirs = BoundedClassifier().fit(X, y), LogisticRegression().fit(filled, y)
    _ = ours.certificate_
    library = Path(sklearn.__file__).parent
    fit = _changes(lambda: BoundedClassifier().fit(X, y).certificate_)
    found = [
        (f"BoundedClassifier.{name}", fit, _changes(lambda name=name: getattr(ours, name)(row)))
        for name in ("decision_bounds", "predict_proba_bounds", "predict_proba")
    ]
    fit, predict = (
        _changes(call, library) for call in (lambda: theirs.fit(filled, y), lambda: theirs.predict_proba(row))
    )
    return [*found, ("LogisticRegression.predict_proba", fit, predict)]


def _changes(call: Callable[[], Any], package: Path = PACKAGE) -> int:
    seen = _Seen(package)
    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen.changes


class _Seen:
    """Counts calls of functions of a package."""

    def __init__(self, package: Path = PACKAGE) -> None:
        self._package = str(package)
        self.files: set[str] = set()
        self.changes, self._last = 0, ""
        self.changes_between_ideas, self._last_idea = 0, ""

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(self._package):
            self.files.add(file)
            self.changes += file != self._last
            self._last = file
            if Path(file).name not in LEAVES:
                self.changes_between_ideas += file != self._last_idea
                self._last_idea = file
