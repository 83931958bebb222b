"""Bounds of rows by models that were trained without them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params, _num_samples

from ipub.errors import IpubError, IpubTypeError
from ipub.estimators.linear_model import BoundedLinearModel
from ipub.estimators.pipelines import CELL_BOUNDS, BoundedPipeline
from ipub.estimators.prediction_table import predicted_columns
from ipub.progress_bars import progress
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.tables.new_frames import frame_of
from ipub.training.reading.sources import is_dask, long_table_of


def cross_val_bounds(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    cv: Any = None,
    params: dict[str, Any] | None = None,
    verbose: int = 0,
) -> Any:
    """Bound the prediction of each row by a model that was trained without it.

    The table is cut into folds. For each, a copy of the estimator, with all steps of a pipeline, is fitted on the rows
    of the others, and the rows of the fold are bounded. So this shows on rows with known labels how many predictions of
    new rows will be certain, and how often certain ones are right.

    The bounds of a row hold for every filling of the rows that its model was trained on, and of the row itself (or for
    what another `uncertainty` promises). They say nothing of a model trained on all rows.

    Parameters
    ----------
    estimator : BoundedClassifier, BoundedRegressor or BoundedPipeline
        It is copied, not changed.
    X : array, sparse matrix, DataFrame or IntervalMatrix of shape (n_rows, n_features)
        NaN are the holes. An `IntervalMatrix` gives bounds of each cell.
    y : array of shape (n_rows,)
        Labels or targets.
    groups : array of shape (n_rows,), optional
        Groups for a splitter that keeps them together, such as `GroupKFold`.
    cv : int, splitter or iterable of (train, test), optional
        As in scikit-learn's `cross_validate`: five folds if left out, with all classes in equal parts.
    params : dict, optional
        Further arguments of `fit`; of those with one entry for each row, the rows are taken:
        ``{"sample_weight": w}``, of a pipeline ``{"boundedclassifier__sample_weight": w}``.
    verbose : int, default=0
        If positive, show progress.

    Returns
    -------
    DataFrame
        Of the library of X; of pandas, polars or PyArrow, whichever is installed, if X is no frame. In the order of X,
        a line for each row, and for each time it was held out: ``row``, its position in X, or its index label where X
        has an index; ``fold``; ``prediction``; of classes ``probability`` (of ``classes_[1]``; of more than two
        classes, of the predicted one), or ``score`` of losses without; ``lower`` and ``upper``, the bounds of that
        number; of classes ``certain``, and of more than two ``possible``, the labels that some filling may give.

    Examples
    --------
    >>> from ipub import BoundedClassifier, cross_val_bounds
    >>> from ipub.datasets import load_mammographic_masses
    >>> X, y = load_mammographic_masses()
    >>> found = cross_val_bounds(BoundedClassifier(alpha=0.5, scale="standard"), X[:300], y[:300], cv=3)
    >>> list(found.columns)
    ['row', 'fold', 'prediction', 'probability', 'lower', 'upper', 'certain']

    Most predictions are certain, and of these more are right than of all.

    >>> right = found["prediction"] == y[:300]
    >>> bool(found["certain"].mean() > 0.5), bool(right[found["certain"]].mean() > right.mean())
    (True, True)
    """
    if not isinstance(estimator, (BoundedLinearModel, BoundedPipeline)):
        raise IpubTypeError(
            f"estimator must be a BoundedClassifier(), a BoundedRegressor(), or a pipeline of make_bounded_pipeline, "
            f"not a {type(estimator).__name__}."
        )
    if is_dask(X) or long_table_of(X) is not None:
        raise IpubError("cross_val_bounds takes a table in memory: read it first, or choose some of its rows.")
    params = params or {}
    bounded_cells = [name for name in params if name.split("__")[-1] in CELL_BOUNDS]
    if bounded_cells:
        raise IpubError(
            f"{bounded_cells[0]} would be used in training alone, not for the rows that are held out: give both tables "
            "of bounds as X, IntervalMatrix.from_bounds(lower, upper)."
        )
    n_rows = X.shape[0] if isinstance(X, IntervalMatrix) else _num_samples(X)
    if _num_samples(y) != n_rows:
        raise IpubError(f"y has {_num_samples(y)} entries and X {n_rows} rows: give one for each row.")
    folds = list(check_cv(cv, y, classifier=is_classifier(estimator)).split(np.zeros((n_rows, 1)), y, groups))
    parts: list[dict[str, Any]] = []
    rows: list[Indices] = []
    with progress("Folds", len(folds), bool(verbose)) as report:
        for number, (train, test) in enumerate(folds):
            fitted = clone(estimator).fit(
                _taken(X, train), _safe_indexing(y, train), **_check_method_params(np.zeros(n_rows), params, train)
            )
            model, held_out = fitted, _taken(X, test)
            if isinstance(fitted, BoundedPipeline):
                model, held_out = fitted[-1], fitted.through_steps(held_out)
            columns, quantity = predicted_columns(model.set_output(transform="default"), held_out)
            if not quantity:
                raise IpubError("certificate=None proves no bounds: set certificate='tight'.")
            rows.append(test)
            parts.append({"fold": np.full(len(test), number), **columns})
            report(number + 1)
    positions = np.concatenate(rows)
    order = np.argsort(positions, kind="stable")
    labels = np.asarray(X.index)[positions[order]] if hasattr(X, "iloc") else positions[order]
    joined = {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}
    return frame_of({"row": labels, **joined}, like=X)


def _taken(X: Any, rows: Indices) -> Any:
    return X.take(rows) if isinstance(X, IntervalMatrix) else _safe_indexing(X, rows)
