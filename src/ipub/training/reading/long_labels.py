"""Labels and weights of a table that is read piece by piece: summaries of pieces, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from ipub.errors import IpubError
from ipub.numeric.rounding import Array
from ipub.rows.piece_reader import LabelColumn, LabelReader
from ipub.rows.slices import scaled_weights
from ipub.tables.decoded_rows import TextColumn
from ipub.tables.table_summary import ExactSum
from ipub.training.reading.labels import (
    all_weights_are_zero,
    as_numbers,
    balanced_factors,
    check_classes,
    check_targets,
    check_weights,
    given_factors,
    refuse_infinite,
)
from ipub.training.reading.parameters import Parameters

MOST_CLASSES = 10_000
"""Different labels that are counted, at most."""


@dataclass(frozen=True)
class ClassCounts:
    """How many rows have a label, how many of these count, and the sum of their weights."""

    n_rows: int
    n_counted: int
    weight: float

    def joined(self, other: ClassCounts) -> ClassCounts:
        """Return the counts of both pieces."""
        return ClassCounts(self.n_rows + other.n_rows, self.n_counted + other.n_counted, self.weight + other.weight)


@dataclass(frozen=True, eq=False)
class WeightSummary:
    """The exact sum of weights, empty if there are none, and the least and the greatest that are positive."""

    total: ExactSum
    least: float
    greatest: float

    @classmethod
    def of(cls, weight: Array, *, is_summed: bool = True) -> WeightSummary:
        """Summarize the weights of a piece."""
        positive = weight[weight > 0.0]
        total = ExactSum.of(weight.tolist()) if is_summed else ExactSum()
        return cls(total, float(positive.min(initial=np.inf)), float(positive.max(initial=0.0)))

    def joined(self, other: WeightSummary) -> WeightSummary:
        """Return the summary of both pieces."""
        total = self.total.joined(other.total)
        return WeightSummary(total, min(self.least, other.least), max(self.greatest, other.greatest))


@dataclass(frozen=True, eq=False)
class LabelSummary:
    """Labels or targets, and weights, of a piece."""

    name: str
    """Column of the labels."""
    classes: dict[Any, ClassCounts]
    """Counts of each label; empty in a regression."""
    dtype: np.dtype[Any] | None
    """Of labels that are numbers; None for text, and for a piece without rows."""
    weights: WeightSummary

    @classmethod
    def of(cls, name: str, labels: LabelColumn, weight: Array | None, is_classified: bool) -> LabelSummary:
        """Summarize a piece.

        Raises IpubError if a label is missing, or a label or weight cannot be used; the message names the row of the
        piece.
        """
        _refuse_missing(name, labels)
        if weight is not None:
            check_weights(weight)
        weights = np.ones(len(labels)) if weight is None else weight
        counts, dtype = _counts(labels, weights) if is_classified else ({}, None)
        if not is_classified:
            check_targets(_targets(labels))
        return cls(name, counts, dtype, WeightSummary.of(weights, is_summed=weight is not None))

    def joined(self, other: LabelSummary) -> LabelSummary:
        """Return the summary of both pieces."""
        classes = dict(self.classes)
        for label, counts in other.classes.items():
            classes[label] = classes[label].joined(counts) if label in classes else counts
        if len({isinstance(label, str) for label in classes}) > 1:
            raise IpubError(
                "The target {column} holds text in one piece of the table and numbers in another: make all labels "
                "text, or all numbers.",
                column=self.name,
            )
        if len(classes) > MOST_CLASSES:
            raise IpubError(
                "The target {column} has more than {most} different labels: if it is a number to predict, train a "
                "regressor.",
                column=self.name,
                most=MOST_CLASSES,
            )
        dtypes = [each for each in (self.dtype, other.dtype) if each is not None]
        dtype = np.result_type(*dtypes) if dtypes else None
        return LabelSummary(self.name, classes, dtype, self.weights.joined(other.weights))


def _refuse_missing(name: str, labels: LabelColumn) -> None:
    missing = np.flatnonzero(labels.codes < 0) if isinstance(labels, TextColumn) else np.flatnonzero(labels != labels)
    if len(missing):
        raise IpubError(
            "Input y contains NaN: {row} has no label in column {column}. {remedy}",
            row=int(missing[0]),
            column=name,
            remedy="Drop such rows. Bounds for either class (unknown_labels) need a table in memory: give a DataFrame.",
        )


def _targets(labels: LabelColumn) -> Array:
    if isinstance(labels, TextColumn):
        return as_numbers(np.array(labels.values, dtype=object)[labels.codes], "y", "correct it, or train a classifier")
    return as_numbers(labels, "y")


def _counts(labels: LabelColumn, weight: Array) -> tuple[dict[Any, ClassCounts], np.dtype[Any] | None]:
    if isinstance(labels, TextColumn):
        values, numbers, dtype = list(labels.values), labels.codes, None
    else:
        if labels.dtype.kind == "f":
            refuse_infinite(labels)
        found, numbers = np.unique(labels, return_inverse=True)
        values, dtype = found.tolist(), labels.dtype if len(labels) else None
    n = len(values)
    rows, counted, totals = (
        np.bincount(numbers, each, minlength=n) for each in (np.ones(len(weight)), weight > 0.0, weight)
    )
    return {
        value: ClassCounts(int(rows[k]), int(counted[k]), float(totals[k])) for k, value in enumerate(values) if rows[k]
    }, dtype


def label_reader(
    parameters: Parameters,
    summary: LabelSummary,
    weight: str | None,
    n_rows: int,
    weights_of: Callable[[LabelReader], WeightSummary],
) -> tuple[LabelReader, float]:
    """Return how labels and weights of the whole table are read, and the sum of the weights, correctly rounded.

    `weight` is the column of the weights. Where they are multiplied by factors of classes, `weights_of` summarizes
    those that a reader reads, in a pass over the labels.
    """
    weights = summary.weights
    if weights.greatest == 0.0:
        raise all_weights_are_zero()
    classes, factors = None, None
    if parameters.loss.task == "classification":
        classes, factors = _classes_and_factors(parameters, summary)
    reader = LabelReader(summary.name, classes, weight, factors)
    if factors is not None and weight is not None:
        weights = weights_of(reader)
    ends, rounded = (weights.least, weights.greatest), weights.total.rounded()
    if factors is not None and weight is None:
        assert classes is not None
        counts = [summary.classes[label].n_rows for label in classes.tolist()]
        rounded = float(sum(n * Fraction(float(factor)) for n, factor in zip(counts, factors, strict=True)))
        ends = float(factors.min()), float(factors.max())
    elif weight is None:
        rounded = float(n_rows)
    exponent = _exponent(*ends)
    return LabelReader(summary.name, classes, weight, factors, exponent), float(np.ldexp(rounded, exponent))


def _exponent(least: float, greatest: float) -> int:
    """Return the power of two by which weights are scaled; raise an error if they differ too much."""
    scaled = scaled_weights(np.array([least, greatest]))
    return int(np.frexp(scaled[1])[1] - np.frexp(greatest)[1])


def _classes_and_factors(parameters: Parameters, summary: LabelSummary) -> tuple[NDArray[Any], Array | None]:
    labels = sorted(summary.classes)
    classes = np.array(labels, dtype=summary.dtype)
    check_classification_targets(np.tile(classes, 3))  # as if each were there more than once
    found = [summary.classes[label] for label in labels]
    factors, class_weight = None, parameters.class_weight
    if class_weight is not None:
        is_balanced = isinstance(class_weight, str) and class_weight == "balanced"
        totals = np.array([each.weight for each in found])
        factors = balanced_factors(totals) if is_balanced else given_factors(class_weight, classes)
    counts = np.array([each.n_counted for each in found], dtype=np.intp)
    check_classes(parameters, classes, counts if factors is None else np.where(factors > 0.0, counts, 0), False)
    return classes, factors
