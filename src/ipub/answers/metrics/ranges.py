"""The ranges of metrics over all completions of a training table, certified and attained."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from ipub.answers.differences import most_pairs
from ipub.answers.metrics.groups import difference_of, largest_difference, least_ratio, ratio_of
from ipub.answers.metrics.joint import Joint, LinearForms
from ipub.answers.metrics.labelled_rows import Group
from ipub.answers.metrics.metric import Ends, Metric
from ipub.answers.metrics.near_scores import NearScores
from ipub.answers.metrics.pushing import Pushed, Target, retrained_models
from ipub.answers.metrics.retrained import RetrainedScores
from ipub.answers.metrics.score_range import ScoreRange
from ipub.answers.metrics.ways import InBoxes, Way
from ipub.certificates import Certificate, bounds_of_uncertain_rows
from ipub.errors import warn_user
from ipub.model_sets.draws import DrawBounds
from ipub.numeric.rounding import Array, overflow_means_unbounded
from ipub.progress_bars import progress
from ipub.promises import Budget, Draws
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.training import Training
from ipub.training.training import by_model

ALL_ROWS, DIFFERENCE, RATIO = "(all rows)", "(largest difference)", "(least ratio)"
"""What is in place of the label of a group."""

UNDEFINED = Ends(math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked: metrics of groups of rows."""

    training: Training
    rows: IntervalMatrix
    scores: Array
    """Of the model that predicts, shape (m,) or (m, n_classes)."""
    y: Array
    metrics: Sequence[Metric]
    groups: Sequence[Group]
    """Of which the first has all rows."""
    uncertainty: Any
    effort: float
    verbose: int
    searches: bool = True
    """Whether fillings are searched for that push the metrics."""


class Found(NamedTuple):
    """A range, and what it is of."""

    group: Any
    """The label of a group of rows, or what stands for it."""
    range: ScoreRange


def score_ranges(asked: Asked) -> list[Found]:
    """Return the range of each metric for each group.

    With two groups or more beside all rows, the differences and ratios between them follow.
    """
    asked.training.check_certified()
    for metric in asked.metrics:
        metric.check(asked.y)
    with overflow_means_unbounded():
        proved = _proved(asked)
        boxes = [each.boxes for each in proved]
        retrained, notes = _attained(asked, boxes)
        known = _Known(_Certified([_ways(asked, each, retrained) for each in proved]), retrained, notes)
        return [found for metric in asked.metrics for found in _of_metric(asked, metric, known)]


class _Certified:
    """Bounds by the narrowest of several ways; with draws, over all of them."""

    def __init__(self, of_draws: Sequence[Sequence[Way]]) -> None:
        self.of_draws = of_draws

    def over(self, bounds: Callable[[Way], Ends]) -> Ends:
        """Bound something by what each way gives."""
        return reduce(Ends.joined, (reduce(Ends.within, map(bounds, ways)) for ways in self.of_draws))


class _Known(NamedTuple):
    """What is known of all metrics."""

    certified: _Certified
    retrained: RetrainedScores | None
    """None if no filling was searched for."""
    why_not: tuple[str, ...]
    """Why none was."""


def _of_metric(asked: Asked, metric: Metric, known: _Known) -> Iterator[Found]:
    """Yield the ranges of a metric."""
    values, groups = [], []
    certified, retrained, notes = known

    def range_of(value: float, ends: Ends, attained: Callable[[RetrainedScores], Ends]) -> ScoreRange:
        return _range(asked, metric, value, ends, UNDEFINED if retrained is None else attained(retrained), *notes)

    for number, group in enumerate(asked.groups):
        why = metric.undefined(asked.y[group.rows])
        if why:
            name = f"the group {group.label!r}" if number else "these rows"
            warn_user(f"{metric.name} of {name} is not defined, since {why}: its range is NaN.")
            yield Found(group.label, _range(asked, metric, math.nan, UNDEFINED, UNDEFINED, f"{why}."))
            continue
        value, rows = value_of(asked, metric, group.rows), group.rows
        ends = _of_group(certified, metric, rows)
        yield Found(group.label, range_of(value, ends, partial(RetrainedScores.of_group, metric=metric, rows=rows)))
        if number:
            values.append(value)
            groups.append(rows)
    if len(groups) < 2:
        return
    ends = largest_difference(groups, lambda a, b: certified.over(lambda way: way.of_difference(metric, a, b)))
    attained = partial(RetrainedScores.between_groups, metric=metric, groups=groups)
    yield Found(DIFFERENCE, range_of(difference_of(values), ends, partial(attained, of_values=difference_of)))
    if metric.is_rate:
        ends = least_ratio(groups, lambda a, b: certified.over(lambda way: way.of_ratio(metric, a, b)))
        yield Found(RATIO, range_of(ratio_of(values), ends, partial(attained, of_values=ratio_of)))


def value_of(asked: Asked, metric: Metric, rows: Indices) -> float:
    """Return the metric of the model that predicts."""
    scores = decided(metric, asked.scores[rows])[None]
    lower, upper = metric.ends(scores, scores, asked.y[rows])
    return float(0.5 * (lower[0] + upper[0])) + 0.0


def decided(metric: Metric, scores: Array) -> Array:
    """Return scores without ties between classes, of which `predict` takes the first."""
    if scores.ndim == 1:
        return np.where(scores == 0.0, -np.finfo(float).tiny, scores)
    if not metric.is_rate:
        return scores
    return np.asarray(scores.argmax(axis=1)[:, None] == np.arange(scores.shape[1]), dtype=float)


# --- what is certified -----------------------------------------------------------------------------


class _Proved(NamedTuple):
    """What is proved of all rows: of a draw, or of all tables of the promise."""

    boxes: Array
    """Bounds of their scores, shape (m, 2) or (m, n_classes, 2)."""
    certificates: Sequence[Certificate]
    """Of each model."""


def _ways(asked: Asked, proved: _Proved, retrained: RetrainedScores | None) -> list[Way]:
    """Return the ways to bound metrics by what is proved of scores."""
    low, high = proved.boxes[..., 0], proved.boxes[..., 1]
    boxes = InBoxes(low, high, asked.y)
    if len(proved.certificates) > 1:  # the classes of a row are compared, each with a model of its own
        return [boxes]
    training, (certificate,) = asked.training, proved.certificates
    weights = training.coef_bounds[0]
    if training.fit_intercept:
        weights = np.vstack([weights, training.intercept_bounds[0]])
    forms = LinearForms(certificate.score_bounds, training.extended(asked.rows), weights, training.coef.shape[1])
    near = NearScores(asked.scores, low, high, asked.y, retrained)
    return [Joint(boxes, forms, near, most_pairs(certificate.terms_per_row))]


def _proved(asked: Asked) -> list[_Proved]:
    """Return what is proved of the scores of all rows: once, or for each draw."""
    training = asked.training
    draws = [certificate.part(DrawBounds) for certificate in training.certificates]
    if draws[0] is None:
        bounds = training.score_bounds(asked.rows, effort=asked.effort, verbose=asked.verbose)
        return [_Proved(_both_or_none(bounds), training.certificates)]
    extended, found = training.extended(asked.rows), []
    for of_draw in zip(*(each.members for each in draws if each is not None), strict=True):
        bounds = by_model(
            [
                bounds_of_uncertain_rows(
                    certificate.score_bounds,
                    extended.center,
                    extended.cells,
                    training.coef_bounds[k],
                    extended.missing_categories,
                )
                for k, certificate in enumerate(of_draw)
            ]
        )
        found.append(_Proved(_both_or_none(bounds), of_draw))
    return found


def _both_or_none(bounds: Array) -> Array:
    """Return bounds of which both ends are infinite where one is: they say nothing, as in `possible_labels`."""
    is_proved = np.isfinite(bounds).all(axis=-1, keepdims=True)
    return np.where(is_proved, bounds, np.array([-np.inf, np.inf]))


def _of_group(certified: _Certified, metric: Metric, rows: Indices) -> Ends:
    return certified.over(lambda way: way.of_group(metric, rows))


# --- what is attained ------------------------------------------------------------------------------


def _attained(asked: Asked, boxes: Sequence[Array]) -> tuple[RetrainedScores | None, tuple[str, ...]]:
    """Return the scores of models that were trained on fillings which push the metrics; or why there are none."""
    training = asked.training
    if not asked.searches:
        return None, ()
    if not training.can_search:
        why = (
            "is too wide or sparse" if training.models else "is not at hand: the model was loaded, unpickled or copied"
        )
        return None, (f"No fillings were searched for, since the training table {why}.",)
    bounds = np.stack(
        [np.min([each[..., 0] for each in boxes], axis=0), np.max([each[..., 1] for each in boxes], axis=0)]
    )
    rows = training.extended(asked.rows)
    pushed = Pushed(_targets(asked), rows, np.moveaxis(bounds, 0, -1), asked.y)
    with progress("Retraining on fillings that push metrics", 1.0, bool(asked.verbose)) as report:
        models = retrained_models(training, pushed, asked.effort, report)
    training.release_caches()
    found = RetrainedScores.of(rows, models, asked.y)
    return (found, ()) if len(found) else (None, ("No filling that was searched for could be trained on.",))


def _targets(asked: Asked) -> list[Target]:
    """Return what is pushed, what matters most first: all rows, the two groups that are farthest apart, each group."""
    of_all: list[Target] = []
    of_pairs: list[Target] = []
    of_groups: list[Target] = []
    for metric in asked.metrics:
        defined = [group.rows for group in asked.groups if not metric.undefined(asked.y[group.rows])]
        if not defined:
            continue
        of_all.append(Target(metric, defined[0]))
        groups = defined[1:]
        if len(groups) > 1:
            values = [value_of(asked, metric, rows) for rows in groups]
            of_pairs.append(Target(metric, groups[int(np.argmax(values))], groups[int(np.argmin(values))]))
        of_groups.extend(Target(metric, rows) for rows in groups)
    return [*of_all, *of_pairs, *of_groups]


# --- results ---------------------------------------------------------------------------------------


def _range(asked: Asked, metric: Metric, value: float, certified: Ends, attained: Ends, *notes: str) -> ScoreRange:
    promise, how_often = promise_of_metrics(asked.training, asked.uncertainty)
    if not attained.lower <= attained.upper:  # all of its rows are ties
        attained = UNDEFINED
    return ScoreRange(
        metric.name,
        value,
        lower=certified.lower + 0.0,
        upper=certified.upper + 0.0,
        # Retraining is exact up to rounding only; what a filling gives is inside.
        attained_lower=max(attained.lower, certified.lower) + 0.0,
        attained_upper=min(attained.upper, certified.upper) + 0.0,
        promise=promise,
        how_often=how_often,
        is_fraction=metric.is_rate,
        notes=notes,
    )


def promise_of_metrics(training: Training, uncertainty: Any) -> tuple[str, str]:
    """Return what is promised of numbers that follow from several scores: in a sentence or two, and in a few words."""
    promise = training.certificates[0].promise
    if isinstance(uncertainty, Draws):
        # Which labels the certificates allow for is part of their own sentence.
        labels_may_differ = "labels of the true table" in promise
        sentence = uncertainty.promise_of_metric(labels_may_differ=labels_may_differ)
        return sentence, f"with probability {uncertainty.percent} % (.promise says of what)"
    if isinstance(uncertainty, Budget):
        return promise, "in every table of the budget (proved)"
    return promise, "whatever the missing values are (proved)"
