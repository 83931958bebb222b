"""Bounds and scores for many strengths of the penalty, to choose one by."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import column_or_1d
from sklearn.utils.validation import _num_samples

from ipub.answers.certainty import is_certain, possible_labels
from ipub.certificates import CERTIFICATES, NO_HINT, Certificate, Hint, Neighbour, SlopeBounds, TrainedModel
from ipub.errors import IpubError, IpubTypeError
from ipub.estimators import BoundedClassifier, BoundedRegressor
from ipub.estimators.fitted_state import keep_training
from ipub.estimators.linear_model import check_parameters, parameters_of, unknown_levels
from ipub.estimators.outputs import text_table
from ipub.model_sets.certificate import ANY_FILLING
from ipub.numeric.rounding import LARGEST, Array, check_arithmetic, overflow_means_unbounded
from ipub.progress_bars import progress
from ipub.rows import Block, Rows
from ipub.rows.ops import squared_distances
from ipub.training import Training, certify_as_promised, train
from ipub.training.filled import Source
from ipub.training.reading import Parameters, TrainingData, as_numbers, center_sums, labels_of
from ipub.training.reading.sources import read_source

MOST_TERMS = 2_000_000
"""Beyond so many pairs of an uncertain training cell and a test row, bounds are in the grouped form."""

USUAL_GROWTH, STEEPEST_GROWTH = -1.5, -3.0
"""Powers of the penalty with which the distance of models is assumed to grow: the likely one, and the greatest. They
give a start for the proof, so a wrong one costs time or width, never validity."""

SPAN = 1e3
"""Quotient of the greatest and the least alpha that are chosen here."""


@dataclass(frozen=True, eq=False, repr=False)
class PenaltyPath:
    """Bounds and scores of test rows for each strength of the penalty, as `penalty_path` returns them.

    All arrays have one entry for each alpha, in the order of `alphas`. ``print(path)`` shows a table.
    """

    alphas: Array
    bounds: Array
    """Bounds of the scores, as from `decision_bounds` or `predict_bounds`: (n_alphas, m, 2) or (n_alphas, m, K, 2)."""
    loss: Array
    """Mean loss of the model trained at the center, of the test rows; without y_test, of the training rows. With more
    than two classes, summed over the classes, each against the others."""
    score: Array | None
    """Accuracy, or R2 of a regression, of the model trained at the center; None without y_test."""
    guaranteed_score: Array | None
    """What the model of *every* filling, or of whatever else was promised, attains at least: the fraction of test rows
    whose label is certain and right, or R2 with each prediction at the end of its bounds with the larger error; None
    without y_test. Of bounds that hold with a probability for each row by itself it is a count of such claims, not one
    claim with that probability."""
    certain: Array | None
    """Fraction of test rows whose label is certain (`ipub.answers.certainty.is_certain`); None for a regression. It
    says little where `one_class` is True."""
    width: Array
    """Median width of the bounds."""
    estimators: tuple[Any, ...]
    """The fitted estimators."""
    one_class: NDArray[np.bool_] | None = None
    """Whether the model predicts the same label for all test rows: then a certain label means no more than that, as
    with a penalty that leaves nothing but the intercept. None for a regression."""

    def columns(self) -> dict[str, Array]:
        """Return the columns of the table by name, for ``pandas.DataFrame(path.columns())``."""
        score = "r2" if isinstance(self.estimators[0], BoundedRegressor) else "accuracy"
        names = {"alpha": self.alphas, "loss": self.loss, score: self.score, "guaranteed_score": self.guaranteed_score}
        columns = {**names, "certain": self.certain, "width": self.width}
        return {name: values for name, values in columns.items() if values is not None}

    def __repr__(self) -> str:
        columns = [[name, *(f"{value:.4g}" for value in part)] for name, part in self.columns().items()]
        below = [self.promise]
        if self.one_class is not None and self.one_class.any():
            same = "every row is predicted to be of the same class: certain means no more there."
            alphas = ", ".join(f"{alpha:.4g}" for alpha in self.alphas[self.one_class])
            below.insert(0, f"Note: with alpha {alphas} {same}")
        if self.score is None:
            below.insert(0, "Note: the loss is that of the training rows, since y_test was not given.")
        return text_table(columns, below)

    @property
    def promise(self) -> str:
        """What the bounds promise, in one sentence that holds for every alpha."""
        promises = [estimator.training_.certificates[0].promise for estimator in self.estimators]
        return next((promise for promise in promises if promise != ANY_FILLING), ANY_FILLING)


def penalty_path(
    estimator: BoundedClassifier | BoundedRegressor,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any = None,
    *,
    alphas: int | ArrayLike = 20,
    **fit_arguments: Any,
) -> PenaltyPath:
    """Bound the predictions of test rows for many strengths of the penalty.

    A stronger penalty gives narrower bounds and a less accurate model. The path shows both, so that an alpha can be
    chosen. The training table is read once, and training starts from the models of stronger penalties, so a path is
    faster than as many fits. Bounds are guaranteed as those of `fit` are. With many missing cells and test rows they
    are in the grouped form, column by column: wider by a few per cent, and up to several times where the
    penalty is weak. Fit again with the alpha that you choose for the narrowest bounds.

    Parameters
    ----------
    estimator : BoundedClassifier or BoundedRegressor
        Gives all parameters but alpha. It is copied, not changed. Progress is shown if its `verbose` is positive.
    X, y
        The training table with its holes, and its labels or targets, as for `fit`.
    X_test : array, DataFrame or IntervalMatrix of shape (m, n_features)
        Rows to bound, which may have holes. If you choose alpha by them, evaluate the choice on other rows.
    y_test : array of shape (m,), optional
        Their labels or targets, for the loss and the scores.
    alphas : int or array, default=20
        The strengths of the penalty, or how many of them: then evenly spaced in their logarithms, from the mean squared
        distance of the training rows from their mean (from zero with ``fit_intercept=False``), after scaling, down to
        a thousandth of it.
    **fit_arguments
        Further arguments of `fit`: ``sample_weight``, ``X_lower`` and ``X_upper``, ``y_lower`` and ``y_upper``.

    Returns
    -------
    PenaltyPath

    Examples
    --------
    >>> import numpy as np
    >>> from ipub import BoundedClassifier, penalty_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = X[:, 0] + X[:, 1] > rng.normal(size=300)
    >>> X[:20, 2] = np.nan
    >>> path = penalty_path(BoundedClassifier(), X[:200], y[:200], X[200:], y[200:], alphas=[10, 1, 0.3, 0.1])
    >>> path
    alpha    loss  accuracy  guaranteed_score  certain     width
       10   0.692      0.47              0.47        1  0.009463
        1  0.6227       0.7              0.63     0.86   0.07046
      0.3  0.5397      0.81              0.73     0.91    0.1397
      0.1  0.4655      0.79              0.75     0.91    0.1986
    Note: with alpha 10 every row is predicted to be of the same class: certain means no more there.
    Always: the bounds hold for every filling of the missing values inside their intervals.

    With alpha = 0.1 the model of every filling of the 20 holes predicts at least 73 % of these rows right.

    >>> best = path.estimators[path.guaranteed_score.argmax()]
    >>> best.alpha
    0.1
    """
    template = _template(estimator)
    inspect.signature(template.fit).bind(X, y, **fit_arguments)  # names an argument that fit does not take
    chosen = None if isinstance(alphas, Integral) else _checked_alphas(alphas)
    if isinstance(alphas, Integral) and (alphas < 1 or alphas is True):
        raise IpubError(f"alphas is {alphas}: give how many values to try, at least 1, or the values.")
    parameters = replace(parameters_of(template), verbose=0)
    data, X = read_source(parameters, X, y, **fit_arguments)
    if chosen is None:
        chosen = _spaced_alphas(data.rows[0], int(alphas), parameters.fit_intercept)
    truth = None if y_test is None else _read_truth(data.classes, y_test, _num_samples(X_test))
    # From strong to weak, whatever the order: a model is near that of its stronger neighbour.
    order = np.argsort(-chosen).tolist()
    in_groups = sum(rows.count_uncertain() for rows in data.rows) * _num_samples(X_test) > MOST_TERMS
    source = (X, fit_arguments.get("X_lower"), fit_arguments.get("X_upper"))
    path = _Path(parameters, data, source, _Starts(), _Neighbours(in_groups))
    found: dict[int, _Point] = {}
    check_arithmetic()
    with progress("Penalties", len(order), bool(template.verbose)) as report:
        for done, k in enumerate(order):
            fitted = clone(template).set_params(alpha=float(chosen[k]))
            keep_training(fitted, path.at(fitted.alpha))
            found[k] = _Point.of(fitted, X_test, truth)
            report(done + 1)
    for rows in data.rows:
        rows.clear_cache()
    points = [found[k] for k in range(len(chosen))]
    score, guaranteed, certain = (
        None if None in values else np.array(values)
        for values in zip(*((p.score, p.guaranteed_score, p.certain) for p in points), strict=True)
    )
    loss = np.array([point.loss for point in points])
    one_class = None if points[0].certain is None else np.array([point.one_class for point in points])
    bounds = np.stack([point.bounds for point in points])
    width = np.median((bounds[..., 1] - bounds[..., 0]).reshape(len(points), -1), axis=1)
    estimators = tuple(point.estimator for point in points)
    return PenaltyPath(chosen, bounds, loss, score, guaranteed, certain, width, estimators, one_class)


@dataclass(frozen=True)
class _Path:
    """The trainings of one path: each starts from the results of stronger penalties."""

    parameters: Parameters
    data: TrainingData
    source: Source
    starts: _Starts
    neighbours: _Neighbours

    def at(self, alpha: float) -> Training:
        """Train and certify with one penalty."""
        parameters = replace(self.parameters, alpha=alpha)
        if parameters.uncertainty != "worst":
            return certify_as_promised(parameters, self.data, *self.source)
        models = train(parameters, self.data.rows, self.starts.at(alpha, len(self.data.rows)))
        self.starts.add(alpha, [model.solution.w for model in models])
        assert parameters.certificate is not None
        certificates = self.neighbours.certify(parameters.certificate, models)
        return Training.of(parameters, self.data, models, tuple(certificates))


class _Starts:
    """Starts of training: on the line through the last two models, over log alpha."""

    def __init__(self) -> None:
        self._last: list[tuple[float, list[Array]]] = []

    def add(self, alpha: float, weights: list[Array]) -> None:
        self._last = [*self._last[-1:], (math.log(alpha), weights)]

    def at(self, alpha: float, n_models: int) -> Sequence[Array | None]:
        if not self._last:
            return [None] * n_models
        here, weights = self._last[-1]
        before, earlier = self._last[0]
        # No farther than from the model before to the last: beyond that the line is no guide.
        step = min(1.0, (math.log(alpha) - here) / (here - before)) if before != here else 0.0
        return [w + step * (w - old) for w, old in zip(weights, earlier, strict=True)]


class _Neighbours:
    """The certificates of the last two penalties, which suggest how far the models of the next can move."""

    def __init__(self, in_groups: bool) -> None:
        self._in_groups = in_groups
        self._last: list[tuple[float, list[Certificate]]] = []

    def certify(self, name: str, models: Sequence[TrainedModel]) -> list[Certificate]:
        """Certify the models of one penalty; in the form without training rows, if the other takes too long."""
        lam = models[0].problem.penalty.lam
        certificates = [
            CERTIFICATES[name](*model, hint=self._near(k, lam), in_columns=self._in_groups)
            for k, model in enumerate(models)
        ]
        self._last = [*self._last[-1:], (lam, certificates)]
        return certificates

    def _near(self, model: int, lam: float) -> Hint:
        """Return the last bounds of a model, if they save time, and by which factors its moves are likely to grow."""
        found = [(there, certificates[model].part(SlopeBounds)) for there, certificates in self._last]
        if not found or not self._in_groups:
            return NO_HINT
        (earlier, before), (there, bounds) = found[0], found[-1]
        if bounds is None or bounds.first is None:
            return NO_HINT
        power = np.full(len(bounds.w) + 1, USUAL_GROWTH)
        if before is not None and before.first is not None and earlier != there:
            with np.errstate(divide="ignore", invalid="ignore"):
                now, then = (np.append(each.move_limits, each.radius) for each in (bounds.first, before.first))
                power = np.log(now / then) / math.log(there / earlier)
            power = np.clip(np.nan_to_num(power, nan=USUAL_GROWTH), STEEPEST_GROWTH, 0.0)
        growth = (lam / there) ** power
        return Neighbour(bounds, there, growth[:-1], float(growth[-1]))


@dataclass(frozen=True)
class _Point:
    """One alpha of a path."""

    estimator: Any
    bounds: Array
    loss: float
    score: float | None = None
    guaranteed_score: float | None = None
    certain: float | None = None
    one_class: bool = False

    @classmethod
    def of(cls, estimator: Any, X_test: Any, truth: NDArray[Any] | None) -> _Point:
        training = estimator.training_
        with unknown_levels(estimator) as unknown:
            rows = training.table.uncertain_rows(X_test, unknown)
        bounds = training.score_bounds(rows, effort=estimator.effort)
        if isinstance(estimator, BoundedRegressor):
            if truth is None:
                return cls(estimator, bounds, _training_loss(training))
            predicted = estimator.predict(X_test)
            loss = float(training.loss.value(truth, predicted).mean())
            farther = np.maximum(np.abs(truth - bounds[:, 0]), np.abs(truth - bounds[:, 1]))
            return cls(estimator, bounds, loss, _r2(truth, truth - predicted), _r2(truth, farther))
        possible = possible_labels(bounds)
        certain = is_certain(bounds)
        predicted = estimator.predict(X_test)
        one_class = bool(len(predicted) > 1 and (predicted == predicted[0]).all())
        if truth is None:
            return cls(estimator, bounds, _training_loss(training), certain=float(certain.mean()), one_class=one_class)
        right = possible[np.arange(len(truth)), truth]
        score = (predicted == estimator.classes_[truth]).mean()
        scores = estimator.decision_function(X_test).reshape(len(truth), -1)
        is_class = truth[:, None] == ([1] if scores.shape[1] == 1 else np.arange(scores.shape[1]))
        loss = float(training.loss.value(np.where(is_class, 1.0, -1.0), scores).sum(axis=1).mean())
        guaranteed = float((certain & right).mean())
        return cls(estimator, bounds, loss, float(score), guaranteed, float(certain.mean()), one_class)


def _training_loss(training: Training) -> float:
    """Return the mean loss of the training rows, summed over the models."""
    return sum(solution.primal - problem.penalty.value(solution.w) for problem, solution in training.models)


def _r2(truth: Array, residual: Array) -> float:
    with overflow_means_unbounded():
        return float(1.0 - residual @ residual / ((truth - truth.mean()) ** 2).sum())


def _template(estimator: Any) -> Any:
    """Return an unfitted copy of the estimator, with its parameters checked."""
    if not isinstance(estimator, (BoundedClassifier, BoundedRegressor)):
        what = f"the class {estimator.__name__}" if isinstance(estimator, type) else f"a {type(estimator).__name__}"
        raise IpubTypeError(
            f"estimator must be a BoundedClassifier() or a BoundedRegressor(), not {what}. Of a pipeline, give the "
            "last step, and the tables as the steps before it transform them."
        )
    template = clone(estimator)
    check_parameters(template)
    if template.certificate is None:
        raise IpubError("A penalty path compares bounds, and certificate=None proves none: set certificate='tight'.")
    return template


def _checked_alphas(alphas: Any) -> Array:
    """Return alphas as an array; each must be a positive number, and occur once."""
    try:
        values = np.array(alphas, dtype=float)
    except (TypeError, ValueError) as error:
        raise IpubError(f"alphas must be numbers, or how many there are to be, not {alphas!r}.") from error
    if values.ndim == 0:
        raise IpubError(
            f"alphas is {alphas!r}: give a list, [{alphas!r}], or a whole number, how many there are to be."
        )
    if values.ndim != 1 or len(values) == 0:
        raise IpubError(f"alphas has the shape {values.shape}: give a list of at least one number, or how many.")
    wrong = np.flatnonzero(~((values > 0.0) & (values <= LARGEST)))
    if len(wrong):
        raise IpubError(
            "alphas[{position}] is {value}: each must be a number above 0 and at most {largest:g}.",
            position=wrong[0],
            value=float(values[wrong[0]]),
            largest=LARGEST,
        )
    distinct, counts = np.unique(values, return_counts=True)
    if (counts > 1).any():
        twice = float(distinct[counts > 1][0])
        raise IpubError("alphas has {value:g} more than once: give each value once.", value=twice)
    return values


def _spaced_alphas(rows: Rows, n: int, is_centered: bool) -> Array:
    """Return alphas from where the penalty outweighs the curvature of a loss to where it has little effect."""
    middle = np.zeros(rows.n_features)
    if is_centered:
        middle = rows.reduce(center_sums)[0] / rows.total_weight
    greatest = float(rows.reduce(_squared_distances, middle)[0] / rows.total_weight)
    if not 0.0 < greatest <= LARGEST:
        raise IpubError(
            f"The mean squared distance of the training rows is {greatest:g}, so no alphas suggest themselves: rescale "
            "the columns (scale='standard'), or give the values of alphas."
        )
    return np.geomspace(greatest, greatest / SPAN, n)


def _squared_distances(block: Block, middle: Array) -> tuple[float]:
    return (squared_distances(block.center, block.weight, middle),)


def _read_truth(classes: NDArray[Any] | None, y_test: Any, n_rows: int) -> NDArray[Any]:
    """Return the number of each test row's class, or its target."""
    labels = column_or_1d(labels_of(y_test))
    if len(labels) != n_rows:
        raise IpubError(f"y_test has {len(labels)} entries and X_test {n_rows} rows: give one for each row, or none.")
    if classes is not None:
        numbers = {label: k for k, label in enumerate(classes.tolist())}
        unknown = [i for i, label in enumerate(labels.tolist()) if label not in numbers]
        if unknown:
            raise IpubError(
                "y_test has the label {value!r} in {row}, which is not in y ({n} row(s) in all): leave these rows out. "
                "The labels of y are {labels}.",
                value=labels.tolist()[unknown[0]],
                row=unknown[0],
                n=len(unknown),
                labels=", ".join(map(repr, numbers)),
            )
        return np.array([numbers[label] for label in labels.tolist()])
    targets = as_numbers(labels, "y_test", "leave the row out, or correct it")
    wrong = np.flatnonzero(~(np.abs(targets) <= LARGEST))
    if len(wrong):
        raise IpubError(
            "y_test is {value} in {row}: leave rows without a finite target out.",
            value=float(targets[wrong[0]]),
            row=int(wrong[0]),
        )
    if (targets == targets[0]).all():
        raise IpubError("All of y_test is one value, so R2 is not defined: give more test rows, or leave y_test out.")
    return targets
