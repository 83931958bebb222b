"""Areas of the long attack: each draws a random table, model and promise, and attacks what is said of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.special import expit

import ipub
from ipub import BoundedClassifier, BoundedRegressor, Budget, Draws
from ipub.losses import LOSSES
from ipub.verification.checked_rows import CheckedRows, rows_with_bounds
from ipub.verification.claim import Given, Limits, claims_of
from ipub.verification.plain_training import Model, train
from ipub.verification.search_fillings import Goal, attempts, base_filling, random_filling
from support.attacks import attack_family
from support.cases import FAMILIES

RETRAININGS = 300
"""Models that are trained for one problem: bounds of a problem take about as long as so many."""
ROWS = 40
"""Rows of a problem whose bounds are compared with every retrained model."""
FEW = 4
"""Rows where each is looked at by itself."""
SHARP = 0.05
"""A problem is sharp if a score came so near to a bound, in widths."""

Generator = np.random.Generator


@dataclass
class Tally:
    """What was done in an area."""

    problems: int = 0
    seconds: float = 0.0
    """Time of a processor."""
    retrainings: int = 0
    aimed: int = 0
    """Of these, on fillings that were chosen to break a bound."""
    checks: int = 0
    sharp: int = 0
    """Problems in which a score came within `SHARP` widths of a bound."""
    hits: int = 0
    """Missing values inside an interval that promises a share, of `trials`."""
    trials: int = 0
    violations: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add what another one has."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


# --- random problems --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """A table with holes, its targets, and rows to predict."""

    X: Any
    score: np.ndarray
    rows: Any

    def labels(self, n_classes: int = 2) -> np.ndarray:
        """Return classes: each has a row."""
        order = np.argsort(np.argsort(self.score))
        return np.asarray(order * n_classes // len(order))


def numbers(rng: Generator, most_rows: int = 60, most_holes: int = 12) -> Table:
    """Return a table of numbers."""
    n, d = int(rng.integers(8, most_rows)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.3:
        X = np.round(X)
    score = X @ rng.normal(size=d) + rng.uniform(0.1, 2.0) * rng.normal(size=n)
    rows = rng.normal(size=(ROWS, d))
    places = rng.permutation(n * d)[: rng.integers(1, most_holes)]
    X.ravel()[places] = np.nan
    for j in np.flatnonzero(np.isnan(X).all(axis=0)):
        X[0, j] = 0.5
    if rng.random() < 0.4:
        rows[: ROWS // 4, 0] = np.nan
    return Table(X, score, rows)


def mixed(rng: Generator) -> Table:
    """Return a table of numbers and categories."""
    plain = numbers(rng, most_holes=8)
    X, rows = pd.DataFrame(plain.X).add_prefix("x"), pd.DataFrame(plain.rows).add_prefix("x")
    kinds = np.array(["u", "v", "w"])[: rng.integers(2, 4)]
    X["kind"], rows["kind"] = rng.choice(kinds, len(X)), rng.choice(kinds, len(rows))
    score = plain.score + (X["kind"] == "u")
    X.loc[rng.permutation(len(X))[: rng.integers(0, 4)], "kind"] = None
    if rng.random() < 0.3:
        rows.loc[rng.permutation(len(rows))[: ROWS // 4], "kind"] = None
    return Table(X, score.to_numpy(), rows)


def parameters(rng: Generator) -> dict[str, Any]:
    """Return parameters that every loss has."""
    return {
        "alpha": float(10.0 ** rng.uniform(-2.5, 0.5)),
        "l1_ratio": float(rng.choice([0.0, 0.0, 0.3, 0.8])),
        "fit_intercept": bool(rng.random() < 0.7),
        "scale": rng.choice(np.array([None, "standard", "minmax"], dtype=object)),
        "intervals": str(rng.choice(["quantile", "observed"])),
    }


def model_of(rng: Generator, loss: str, **given: Any) -> Any:
    """Return an estimator."""
    kind = BoundedClassifier if LOSSES[loss].task == "classification" else BoundedRegressor
    return kind(loss, **{**parameters(rng), **given})


def target_of(table: Table, model: Any) -> np.ndarray:
    """Return what a model is trained to predict."""
    return table.labels() if isinstance(model, BoundedClassifier) else table.score


# --- areas ------------------------------------------------------------------------------------------------------------


def verified(rng: Generator, model: Any, table: Table, y: Any, retrainings: int = RETRAININGS, **given: Any) -> Tally:
    """Attack the bounds of a fitted model."""
    found = ipub.verify(
        model,
        table.X,
        y,
        table.rows,
        seconds=60.0,
        retrainings=retrainings,
        random_state=int(rng.integers(1 << 31)),
        **given,
    )
    coverage = found.coverage
    return Tally(
        problems=1,
        retrainings=found.n_retrainings,
        aimed=found.n_aimed,
        checks=found.n_checks,
        sharp=int(found.closest < SHARP),
        hits=0 if coverage is None else coverage.n_inside,
        trials=0 if coverage is None else coverage.n_scores,
        violations=[] if found.ok else [f"{model!r}: {found}"],
    )


def of_a_loss(loss: str) -> Callable[[Generator], Tally]:
    """Return an area: any filling, for a loss and every certificate."""

    def area(rng: Generator) -> Tally:
        certificate = str(rng.choice(["tight", "tight", "sphere", "ball", "slope"]))
        table = numbers(rng)
        model = model_of(rng, loss, certificate=certificate)
        y = target_of(table, model)
        weight = None if rng.random() < 0.7 else rng.choice([0.5, 1.0, 3.0], len(y))
        return verified(rng, model.fit(table.X, y, sample_weight=weight), table, y, sample_weight=weight)

    return area


def pointwise(rng: Generator) -> Tally:
    """Attack bounds that are nearly exact: a few missing values, and few rows; every second one of the hinge."""
    table = numbers(rng, most_rows=24, most_holes=4)
    table = replace(table, rows=np.nan_to_num(table.rows[:2]))
    loss = "hinge" if rng.random() < 0.5 else str(rng.choice(["log_loss", "squared_hinge", "huber"]))
    model = model_of(rng, loss, certificate="pointwise", effort=0.05)
    y = target_of(table, model)
    return verified(rng, model.fit(table.X, y), table, y)


def categories(rng: Generator) -> Tally:
    """Attack tables with missing categories, and several classes."""
    table = mixed(rng)
    model = model_of(rng, str(rng.choice(["log_loss", "squared_hinge", "squared_error", "hinge"])))
    y = table.labels(int(rng.integers(2, 4))) if isinstance(model, BoundedClassifier) else table.score
    return verified(rng, model.fit(table.X, y), table, y)


def labels(rng: Generator) -> Tally:
    """Attack unknown and wrong labels, and targets in intervals."""
    table, kind = numbers(rng), rng.integers(3)
    if kind == 2:
        ends = {"y_lower": table.score - rng.random(len(table.score)), "y_upper": table.score + 0.3}
        model = model_of(rng, str(rng.choice(["squared_error", "huber"])))
        return verified(rng, model.fit(table.X, None, **ends), table, None, **ends)
    loss = str(rng.choice(["log_loss", "squared_hinge", "smoothed_hinge"]))
    y: Any = table.labels()
    if kind == 0:
        model = model_of(rng, loss, max_label_errors=int(rng.integers(1, 4)))
    else:
        model = model_of(rng, loss, unknown_labels=True)
        y = y.astype(object)
        y[rng.permutation(len(y))[:2]] = None
    return verified(rng, model.fit(table.X, y), table, y)


def budgets(rng: Generator) -> Tally:
    """Attack budgets of missing values, wrong cells, labels and rows, with categories."""
    table = mixed(rng) if rng.random() < 0.6 else numbers(rng)
    loss = str(rng.choice(["log_loss", "squared_error", "squared_hinge", "huber", "smoothed_hinge"]))
    model = model_of(rng, loss)
    is_classes = isinstance(model, BoundedClassifier)
    budget = Budget(
        cells=int(rng.integers(0, 5)),
        filling=str(rng.choice(["middle", "mean", "median"])),
        wrong_cells=int(rng.choice([0, 0, 1, 2])),
        labels=int(rng.choice([0, 0, 1, 2])) if is_classes else 0,
        rows=int(rng.choice([0, 0, 1, 2])),
    )
    y = target_of(table, model)
    return verified(rng, model.set_params(uncertainty=budget).fit(table.X, y), table, y)


def draws(rng: Generator) -> Tally:
    """Simulate the imputer of draws, some with labels in doubt."""
    table = mixed(rng) if rng.random() < 0.4 else numbers(rng)
    promise = Draws(
        str(rng.choice(["hot_deck", "chained"])),
        n_draws=int(rng.choice([9, 19])),
        radius=float(rng.choice([0.05, 0.1, 0.5])),
        random_state=int(rng.integers(1 << 30)),
    )
    model = model_of(rng, "log_loss", uncertainty=promise)
    y: Any = table.labels()
    doubt = rng.integers(3)
    if doubt == 1:
        model.set_params(max_label_errors=1)
    elif doubt == 2:
        model.set_params(unknown_labels=True)
        y = y.astype(object)
        y[rng.integers(len(y))] = None
    return verified(rng, model.fit(table.X, y), table, y, 3 * RETRAININGS)


def engines(rng: Generator) -> Tally:
    """Attack models that were fitted on files, a Dask collection or a sparse matrix."""
    table = numbers(rng)
    model = model_of(rng, str(rng.choice(["log_loss", "squared_error"])), scale=None)
    y = target_of(table, model)
    engine = str(rng.choice(["memmap", "parquet", "dask", "sparse"]))
    with tempfile.TemporaryDirectory() as folder:
        if engine == "memmap":
            np.save(Path(folder) / "X.npy", table.X)
            fitted = model.fit(np.load(Path(folder) / "X.npy", mmap_mode="r"), y)
            return verified(rng, fitted, table, y)
        if engine == "sparse":
            X = np.where(rng.random(table.X.shape) < 0.3, 0.0, table.X)
            table = replace(table, X=X, rows=np.nan_to_num(table.rows))
            model.set_params(certificate=str(rng.choice(["ball", "tight"])))
            return verified(rng, model.fit(csr_array(X), y), table, y)
        frame = pd.DataFrame(table.X).add_prefix("x")
        table = replace(table, X=frame, rows=pd.DataFrame(table.rows).add_prefix("x"))
        if engine == "parquet":
            frame.assign(y=y).to_parquet(Path(folder) / "t.parquet")
            from ipub.rows.parquet import ParquetTable

            fitted = model.fit(ParquetTable(Path(folder) / "t.parquet", [*frame, "y"]), "y")
        else:
            import dask.dataframe as dd

            parts = dd.from_pandas(frame.assign(y=y), npartitions=int(rng.integers(1, 4)))
            fitted = model.fit(parts[list(frame)], parts["y"])
        return verified(rng, fitted, table, y)


def trained(
    rng: Generator, part: CheckedRows, tally: Tally, most: int = RETRAININGS
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Retrain as the verifier does, on random fillings and towards rows; return the ends of the scores of the rows."""
    found: list[tuple[np.ndarray, np.ndarray]] = []

    def retrain(filling: Any) -> Model:
        model = train(part.claim.filled(filling), part.claim.objective, None if part.last is None else part.last.w)
        tally.retrainings += 1
        if np.isfinite(model.error):
            part.last = model
            least, greatest = part.ends(model.w)
            has_intercept = part.claim.objective.has_intercept
            found.append((model.scores(least, has_intercept)[0], model.scores(greatest, has_intercept)[1]))
        return model

    retrain(base_filling(part.claim, rng))
    while tally.retrainings < most:
        before, row = tally.retrainings, int(rng.integers(len(part.bounds)))
        side = float(rng.choice([-1.0, 1.0]))
        X = part.ends(part.last.w)[int(side > 0.0)]
        for _ in attempts(part.claim, Goal(X[row], side), rng, retrain):
            pass
        n_aimed = tally.retrainings - before
        tally.aimed += n_aimed
        for _ in range(n_aimed):
            retrain(random_filling(part.claim, rng))
    return found


def f1(right: np.ndarray, y: np.ndarray) -> float:
    """Return the F1 score of predictions of two classes, given which are right."""
    found = int(right[y == 1].sum())
    wrong = int((~right).sum())
    return 2 * found / max(1, 2 * found + wrong)


def metrics(rng: Generator) -> Tally:
    """Attack the ranges of metrics: of classes, of the order of scores, of probabilities."""
    table = numbers(rng)
    rows = rng.normal(size=(8, table.X.shape[1]))
    model = model_of(rng, "log_loss").fit(table.X, table.labels())
    tally, y = Tally(problems=1), np.array([0, 1] * 4)
    names = ("accuracy", "recall", "f1", "roc_auc", "log_loss", "brier_score")
    ranges = {name: model.score_range(rows, y, name, search=False) for name in names}
    (part,) = rows_with_bounds(model, claims_of(model, Given(table.X, table.labels())), rows)
    for low, high in trained(rng, part, tally):
        pairs = [(i, j) for i in np.flatnonzero(y == 1) for j in np.flatnonzero(y == 0)]
        # Of the rows of each class those that are right at least, and at most.
        least_right, most_right = np.where(y == 1, low > 0.0, high < 0.0), np.where(y == 1, high > 0.0, low <= 0.0)
        least_loss, most_loss = np.where(y == 1, -high, low), np.where(y == 1, -low, high)
        ends = {
            "accuracy": (least_right.mean(), most_right.mean()),
            "recall": (least_right[y == 1].mean(), most_right[y == 1].mean()),
            "f1": (f1(least_right, y), f1(most_right, y)),
            "roc_auc": (np.mean([low[i] > high[j] for i, j in pairs]), np.mean([high[i] >= low[j] for i, j in pairs])),
            "log_loss": (
                np.mean(np.logaddexp(0.0, least_loss)) - 1e-12,
                np.mean(np.logaddexp(0.0, most_loss)) + 1e-12,
            ),
            "brier_score": (np.mean(expit(least_loss) ** 2) - 1e-12, np.mean(expit(most_loss) ** 2) + 1e-12),
        }
        for name, (least, greatest) in ends.items():
            tally.checks += 1
            known = ranges[name]
            if greatest < known.lower or least > known.upper:
                tally.violations.append(f"{model!r}: {name} {least} to {greatest}, range {known}")
    return tally


def ranking(rng: Generator) -> Tally:
    """Attack what is said of the first k rows."""
    table = numbers(rng)
    rows, k = rng.normal(size=(8, table.X.shape[1])), int(rng.integers(1, 7))
    model = model_of(rng, str(rng.choice(["log_loss", "squared_error"])))
    y = target_of(table, model)
    model.fit(table.X, y)
    tally, found = Tally(problems=1), model.top(rows, k).rows
    states = dict(zip(found["row"], found["state"], strict=True))
    (part,) = rows_with_bounds(model, claims_of(model, Given(table.X, y)), rows)
    for low, high in trained(rng, part, tally):
        for row, state in states.items():
            others = np.arange(len(rows)) != row
            above, maybe = int((low[others] > high[row]).sum()), int((high[others] >= low[row]).sum())
            tally.checks += 1
            if (state == "in" and above >= k) or (state == "out" and maybe < k):
                tally.violations.append(f"{model!r}: row {row} is {state} of the first {k}: {low.tolist()}, {high}")
    return tally


def tipping(rng: Generator) -> Tally:
    """Attack the least number of missing values that must differ before a class changes."""
    table = numbers(rng)
    table = replace(table, rows=np.nan_to_num(table.rows[:FEW]))
    model = model_of(rng, "log_loss").fit(table.X, table.labels())
    tally = Tally(problems=1)
    certified = model.flip_distance(table.rows)[:, 0]
    base, signs = model.decision_function(table.rows), np.zeros(len(table.rows))
    signs = np.sign(base)
    for row, count in enumerate(certified):
        if count < 1:
            continue
        (claim,) = claims_of(model, Given(table.X, table.labels()))
        limit = None if np.isinf(count) else int(count) - 1
        (part,) = rows_with_bounds(model, [replace(claim, limits=Limits(holes=limit))], table.rows[[row]])
        here = Tally()
        for low, high in trained(rng, part, here, RETRAININGS // 3):
            here.checks += 1
            if signs[row] * (high[0] if signs[row] > 0.0 else low[0]) < 0.0:
                here.violations.append(f"{model!r}: row {row} of {table.rows[row]}, fewer than {count} cells differ")
        tally.add(here)
    return tally


def conditional(rng: Generator) -> Tally:
    """Count how many missing values lie in conditional intervals of level 0.9: at least that share, in the mean."""
    n = int(rng.integers(150, 400))
    X = rng.normal(size=(n, 3))
    X[:, 1] += rng.uniform(0.0, 3.0) * X[:, 0]
    X[:, 2] = np.exp(0.5 * X[:, 2]) * (1.0 + np.abs(X[:, 0]))
    holed, missing = X.copy(), np.flatnonzero(rng.random(n) < 0.1)
    holed[missing, 1] = np.nan
    seed = int(rng.integers(1 << 30))
    model = BoundedRegressor(intervals="conditional", certificate=None, random_state=seed).fit(holed, X.sum(axis=1))
    if model.conditional_intervals_ is None:
        return Tally(problems=1)
    hits = trials = 0
    for each in model.conditional_intervals_.columns:
        if each.column == 1:
            low, high = each.intervals(holed[missing])
            hits, trials = int(((X[missing, 1] >= low) & (X[missing, 1] <= high)).sum()), len(missing)
    return Tally(problems=1, checks=trials, hits=hits, trials=trials)


def any_vector(rng: Generator) -> Tally:
    """Attack certificates of models that are trained badly or not at all, with proven errors (ball arithmetic)."""
    found = attack_family(
        int(rng.integers(1 << 31)),
        str(rng.choice(list(FAMILIES))),
        str(rng.choice(list(LOSSES))),
        str(rng.choice(["l2", "elastic net"])),
        problems=1,
        intercept=bool(rng.random() < 0.5),
    )
    return Tally(
        problems=1,
        retrainings=found.retrainings,
        aimed=found.adversarial_retrainings,
        checks=found.checks,
        violations=found.violations,
    )


AREAS: dict[str, Callable[[Generator], Tally]] = {
    **{f"any filling, {loss}": of_a_loss(loss) for loss in LOSSES},
    "pointwise and tilted": pointwise,
    "categories and classes": categories,
    "labels in doubt": labels,
    "budgets": budgets,
    "draws": draws,
    "engines": engines,
    "metric ranges": metrics,
    "first k rows": ranking,
    "tipping brackets": tipping,
    "conditional intervals": conditional,
    "any vector, in balls": any_vector,
}

COVERED = {"conditional intervals": 0.9}
"""Areas in which a share is promised in the mean."""
