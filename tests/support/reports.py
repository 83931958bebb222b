"""Small fitted models to report on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ipub import BoundedClassifier

HOSTILE = [
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "</template></style><b>bold</b>",
    "{{ 7 * 7 }} {% raw %}",
    "[link](https://example.org) ![x](https://example.org/x.png) `code` | cell |",
    "# heading\n- list\n\n---",
    "‮drowssap שלום العربية",
    "🦄 e\u0301 \x00 \ud800",
    "long " * 200,
]
"""Names and values that would do something if they were taken for anything but text."""


def small_table(seed: int = 0, n: int = 140) -> tuple[pd.DataFrame, Any]:
    """Return a table with missing numbers and categories, and two classes."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["age", "weight"])
    X["site"] = rng.choice(["north", "south", "east"], n)
    y = np.where(X["age"] + X["weight"] + 0.5 * (X["site"] == "east") > rng.normal(0.0, 0.5, n), "ill", "well")
    for name, share in (("age", 0.06), ("weight", 0.03), ("site", 0.02)):
        X.loc[rng.random(n) < share, name] = None
    return X, y


def small_model(**parameters: Any) -> tuple[BoundedClassifier, pd.DataFrame, Any]:
    """Return a fitted classifier, rows to report on, of which some are certain and some open, and their labels."""
    X, y = small_table()
    clf = BoundedClassifier(**{"alpha": 0.03, **parameters}).fit(X[:100], y[:100])
    return clf, X[100:], y[100:]


def hostile_report() -> Any:
    """Return a report of a classifier whose columns, categories, classes and rows have hostile names."""
    X, y = small_table()
    X["site"] = X["site"].map({"north": HOSTILE[0], "south": HOSTILE[4], "east": HOSTILE[6]})
    X.columns = [HOSTILE[1], HOSTILE[5], HOSTILE[3]]
    y = np.where(y == "ill", HOSTILE[2], HOSTILE[7].encode("utf-8", "replace").decode())
    clf = BoundedClassifier(alpha=0.03).fit(X[:100], y[:100])
    labels = [f"{HOSTILE[k % len(HOSTILE)]} {k}" for k in range(40)]
    groups = [HOSTILE[k % 2] for k in range(40)]
    reasons = {HOSTILE[1]: HOSTILE[0], HOSTILE[5]: HOSTILE[4]}
    context = {"target": HOSTILE[2], HOSTILE[0]: HOSTILE[1]}
    return clf.report(X[100:], y[100:], labels=labels, groups=groups, reasons=reasons, context=context)
