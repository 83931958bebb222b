"""The strength of the penalty that cross-validation picks on the filled-in table, before anything is certified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.errors import IpubError, IpubWarning, warn_user
from ipub.losses import LOSSES, Loss
from ipub.losses.penalties import ElasticNet
from ipub.numeric.parallel import single_threaded_blas
from ipub.numeric.rounding import Array, overflow_means_unbounded
from ipub.progress_bars import progress
from ipub.rows import Block, MemoryRows, Rows, engine_of
from ipub.rows.slices import drawn_places
from ipub.tables.new_frames import frame_of
from ipub.training.cross_validation import FoldModels, fold_numbers
from ipub.training.reading import Parameters, TrainingData

LEAST, ONE_ERROR = "min", "1se"
RULES = (ONE_ERROR, LEAST)

ALPHAS = tuple(float(f"{digits}e{power}") for power in range(-4, 1) for digits in (1.0, 1.8, 3.2, 5.6))[18::-1]
"""The values that are compared, from strong to weak, so that training starts from the model of the next stronger one.
Of scaled columns they span what is useful; two digits, so that what is shown is what was used."""

KEPT_ALPHA = 0.1
"""The penalty where cross-validation cannot pick one."""

N_FOLDS, REPEATS, REPEATED_ROWS = 10, 3, 300
"""Tables with fewer rows are cut into folds several times, each time in another way."""

FEWEST_ROWS = 20

MOST_ROWS, MOST_WORK = 20_000, 1e8
"""Rows that are compared on, at most, and rows times squared columns (or rows, if these are fewer), for the hinge a
tenth of it: beyond either, a sample of the rows is used."""

CONSTANT = 1e-20
"""Variance of a column, relative to its mean square, that is rounding."""

LOST_ACCURACY = 0.01
"""By how much accuracy, or R2, may be lower within one standard error of the least loss."""


@dataclass(frozen=True, eq=False)
class AlphaChoice:
    """The values of alpha that were compared, from strong to weak, and the one that was picked."""

    rule: str
    alpha: float
    how: str
    """How they were compared, for people."""
    alphas: Array
    loss: Array
    """Mean held-out loss of each: that of the estimator; with more than two classes, summed over the classes."""
    loss_error: Array
    """Standard error of each, over the held-out rows."""
    accuracy: Array
    """Share of held-out rows that are predicted right; R2 in a regression."""
    calibration_slope: Array
    """Slope of the logistic (in a regression, linear) regression of the labels on the held-out scores: below 1 the
    scores are too extreme, above 1 too timid. NaN of losses without probabilities."""
    is_regression: bool

    @property
    def least(self) -> int:
        """Which has the least loss."""
        return int(np.argmin(self.loss))

    @property
    def one_error(self) -> int:
        """Which is the strongest whose loss is within one standard error of the least and that keeps the accuracy."""
        best = self.least
        is_near = self.loss <= self.loss[best] + self.loss_error[best]
        return int(np.argmax(is_near & ~(self.accuracy < self.accuracy[best] - LOST_ACCURACY)))

    @property
    def reason(self) -> str:
        """How alpha was picked: ends a sentence that begins with alpha."""
        of_least = "of the least held-out loss"
        words = of_least if self.rule == LEAST else f"the strongest within one standard error {of_least},"
        return f"{words} in {self.how}"

    def columns(self) -> dict[str, Array]:
        """Return the columns of `alpha_path_` by name."""
        score = "r2" if self.is_regression else "accuracy"
        values = (self.alphas, self.loss, self.loss_error, self.accuracy, self.calibration_slope)
        return dict(zip(("alpha", "loss", "loss_error", score, "calibration_slope"), values, strict=True))

    def frame(self) -> Any:
        """Return these columns as a frame of pandas, or of Polars or PyArrow where there is no pandas."""
        return frame_of(self.columns())


def with_chosen_alpha(parameters: Parameters, data: TrainingData) -> tuple[Parameters, AlphaChoice | None]:
    """Return the parameters with alpha as a number: as given, or as cross-validation picks it.

    The models of all penalties and folds are trained on the table as it was read, with every missing value at the
    middle of its interval. Nothing is certified. Rows of unknown class are left out. Of a long table a sample of the
    rows is used. With more columns than rows the penalty is taken to be L2.
    """
    if not parameters.alpha_rule:
        return parameters, None
    compared = _compared_rows(data, parameters.alpha_rule, parameters.loss.is_smooth)
    decided = replace(parameters, alpha=KEPT_ALPHA, alpha_rule="")
    too_few = compared.too_few
    if too_few:
        warn_user(
            IpubWarning(
                f"alpha={parameters.alpha_rule!r} needs more rows for cross-validation: {too_few}. alpha = "
                f"{KEPT_ALPHA:g} is used instead: give the number that you want."
            )
        )
        return decided, None
    with single_threaded_blas(compared.table.shape[1]):
        choice = _cross_validated(parameters, compared)
    return replace(decided, alpha=choice.alpha), choice


class Compared(NamedTuple):
    """The rows that penalties are compared on."""

    table: Array
    """Filled in and scaled, without a column for the intercept."""
    labels: Array
    """Shape (n, K): targets, or 1 and -1, of each model."""
    weight: Array
    classes: NDArray[np.intp] | None
    """The number of each row's class; None in a regression."""
    n_all: int
    """How many rows there are in all."""

    @property
    def too_few(self) -> str:
        """Why penalties cannot be compared; empty if they can."""
        n = len(self.table)
        if n < FEWEST_ROWS:
            return f"there are {n}, and it takes at least {FEWEST_ROWS}"
        if self.classes is not None and np.count_nonzero(np.bincount(self.classes) > 1) < 2:
            return "fewer than two classes have more than one row"
        return ""


def _compared_rows(data: TrainingData, rule: str, is_smooth: bool) -> Compared:
    """Return the rows that count and whose labels are known: all of them, or a sample."""
    n, d = data.rows[0].n_rows, data.rows[0].n_features
    work = MOST_WORK if is_smooth else 0.1 * MOST_WORK
    n_most = int(min(MOST_ROWS, max(work / d**2, min(work ** (1 / 3), d), FEWEST_ROWS)))
    sampled = [_sampled(rows, n_most, rule) for rows in data.rows]
    table, _, weight, is_known = sampled[0].gather(_values, most=np.iinfo(np.intp).max)
    labels = np.column_stack([rows.labels().y for rows in sampled])
    used = np.flatnonzero((weight > 0.0) & is_known)
    if len(used) > n_most:  # of labels that are uncertain the engine draws no sample
        used = used[drawn_places(len(used), n_most)]
    elif len(table) == n:
        n = len(used)
    classes = None
    if data.classes is not None:
        numbers = labels.argmax(axis=1) if labels.shape[1] > 1 else labels[:, 0] > 0.0
        classes = numbers[used].astype(np.intp)
    return Compared(table[used], labels[used], weight[used], classes, n)


def _sampled(rows: Rows, n_most: int, rule: str) -> Rows:
    """Return rows in memory: all, if they are there already and few, or labels are uncertain, or a sample."""
    is_here = isinstance(engine_of(rows), MemoryRows)
    if is_here and (rows.n_rows <= n_most or rows.uncertain_labels):
        return rows
    sampled = rows.sample(min(rows.n_rows, n_most))
    if sampled is None:
        raise IpubError(
            f"alpha={rule!r} compares penalties on rows in memory, and X is a sparse matrix, or a table of which no "
            "rows can be drawn: give alpha as a number, which GridSearchCV can pick, or a dense array (X.toarray())."
        )
    return sampled


def _values(block: Block) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    uncertain = block.label_uncertainty
    is_known = np.ones(block.n_rows, dtype=bool) if uncertain is None else uncertain.weight_radius == 0.0
    return block.center, block.y, block.weight, is_known


@overflow_means_unbounded()
def _cross_validated(parameters: Parameters, compared: Compared) -> AlphaChoice:
    table, labels, weight, classes, n_all = compared
    n, d = table.shape
    alphas = np.array(ALPHAS) * (_unit(table, weight, parameters.fit_intercept) if parameters.scale is None else 1.0)
    if d > n:
        table, parameters = _rotated(table), replace(parameters, l1_ratio=0.0)
    if parameters.fit_intercept:
        table = np.column_stack([table, np.ones(n)])
    repeats = REPEATS if n < REPEATED_ROWS else 1
    loss, scores, done = parameters.loss, np.full((len(alphas), repeats, n, labels.shape[1]), np.nan), 0
    with progress("Comparing penalties", len(alphas) * repeats, bool(parameters.verbose)) as report:
        for repeat in range(repeats):
            folds = fold_numbers(classes, n, N_FOLDS, repeat)
            models = [FoldModels(table, y, weight, folds, loss) for y in labels.T]
            for k, alpha in enumerate(alphas):
                penalty = replace(parameters, alpha=float(alpha)).penalty
                scores[k, repeat] = np.column_stack([model.train(penalty) for model in models])
                report(done := done + 1)
    held_out = np.flatnonzero(folds >= 0)
    rows = HeldOut(loss, labels[held_out], weight[held_out], None if classes is None else classes[held_out])
    mean, error, accuracy, slope = np.array([rows.results(each[:, held_out]) for each in scores]).T
    sample = "" if n == n_all else f" on a sample of {n} of {n_all} rows"
    how = f"{N_FOLDS}-fold cross-validation ({loss.name.replace('_', ' ')}){sample}"
    rule, is_regression = parameters.alpha_rule, classes is None
    if not np.isfinite(mean).any():
        raise IpubError(f"alpha={rule!r} finds no finite held-out loss: rescale the columns (scale='standard').")
    choice = AlphaChoice(rule, 0.0, how, alphas, mean, error, accuracy, slope, is_regression)
    picked = choice.least if rule == LEAST else choice.one_error
    return replace(choice, alpha=float(alphas[picked]))


def _unit(table: Array, weight: Array, is_centered: bool) -> float:
    """Return the power of ten that is next to the geometric mean of the variances of columns that are not scaled."""
    shares = weight / weight.sum()
    middle = shares @ table if is_centered else 0.0
    variances, squares = shares @ (table - middle) ** 2, shares @ table**2
    varies = (variances > CONSTANT * squares) & np.isfinite(variances)
    power = np.log10(variances[varies]).mean() if varies.any() else 0.0
    return float(10.0 ** np.clip(np.round(power), -100, 100))


def _rotated(table: Array) -> Array:
    """Return rows with as many columns as rows and the same inner products: scores and L2 norms stay what they are."""
    values, vectors = np.linalg.eigh(table @ table.T)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


@dataclass(frozen=True)
class HeldOut:
    """Held-out rows, by which penalties are judged."""

    loss: Loss
    labels: Array
    weight: Array
    classes: NDArray[np.intp] | None

    def results(self, scores: Array) -> Sequence[float]:
        """Return loss, standard error, accuracy or R2, and calibration slope of scores, shape (repeats, n, K)."""
        shares = self.weight / self.weight.sum()
        losses = self.loss.value(self.labels, scores).sum(axis=2).mean(axis=0)
        mean = float(shares @ losses)
        error = np.sqrt(shares**2 @ (losses - mean) ** 2 * len(losses) / (len(losses) - 1))
        mean = mean if np.isfinite(mean) else np.inf
        return mean, float(error), self._accuracy(scores, shares), self._slope(scores, shares)

    def _accuracy(self, scores: Array, shares: Array) -> float:
        if self.classes is None:
            y = self.labels[:, 0]
            spread = shares @ (y - shares @ y) ** 2
            return float(1.0 - (shares @ ((scores[..., 0] - y) ** 2).T).mean() / spread) if spread > 0.0 else np.nan
        predicted = scores[..., 0] > 0.0 if scores.shape[2] == 1 else scores.argmax(axis=2)
        return float((shares @ (predicted == self.classes).T).mean())

    def _slope(self, scores: Array, shares: Array) -> float:
        if self.classes is not None and not self.loss.has_probability:
            return np.nan
        t, repeats = scores.ravel(), len(scores)
        y, s = np.tile(self.labels.ravel(), repeats), np.tile(np.repeat(shares, scores.shape[2]), repeats)
        spread = np.sqrt(s @ (t - s @ t / s.sum()) ** 2 / s.sum())
        if not 0.0 < spread < np.inf:
            return np.nan
        # One model on all rows, whose weight is all but free.
        kind = LOSSES["squared_error"] if self.classes is None else self.loss
        line = np.column_stack([(t - t.mean()) / spread, np.ones(len(t))])
        model = FoldModels(line, y, s, np.full(len(t), -1), kind)
        model.train(ElasticNet(1e-9, n_free=1))
        return float(model.w[0, 0] / spread)
