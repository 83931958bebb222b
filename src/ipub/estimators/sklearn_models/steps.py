"""Fitted steps before a model: how they scale columns, fill holes and encode categories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from ipub.estimators.sklearn_models.classes import flat, lookup, refuse
from ipub.numeric.rounding import Array
from ipub.tables.categories import TableEncoder
from ipub.tables.frames import is_missing
from ipub.tables.interval_matrix import Indices
from ipub.tables.levels import Level
from ipub.tables.scaling import Scaling

Operation = tuple[str, Array]

MOST = np.finfo(float).max
NOTHING = {"add": 0.0, "subtract": 0.0, "multiply": 1.0, "divide": 1.0, "maximum": -MOST, "minimum": MOST}
"""The operands that leave a column as it is."""


@dataclass(frozen=True)
class Steps:
    """The steps before a model in its pipeline."""

    transformers: tuple[Any, ...] = ()
    scaling: Scaling | None = None
    """What they do to the columns of the encoded table."""
    imputes: bool = False
    """Whether they fill holes."""
    encoder: TableEncoder | None = None
    """How the columns of a frame become numbers, if there is a ColumnTransformer."""
    order: Indices | None = None
    """For each encoded column, the model's number of it."""

    def transform(self, table: Any) -> Array:
        """Return the input of the model for a table, in the order of the encoded columns."""
        for step in self.transformers:
            table = step.transform(table)
            table = np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=float)
        return self.encoded(table)

    def encoded(self, values: Array) -> Array:
        """Reorder values for each column of the model to the order of the encoded columns."""
        return values if self.order is None else values[..., self.order]


def read_steps(steps: Sequence[Any]) -> Steps:
    """Read fitted scalers and imputers, perhaps after a ColumnTransformer."""
    if not steps or type(steps[0]) is not ColumnTransformer:
        operations, imputes = _read_numeric(steps)
        return Steps(tuple(steps), _scaling(operations), imputes)
    columns = _read_columns(steps[0])
    order = columns.order
    operations, imputes = _read_numeric(steps[1:])
    operations = columns.operations + [(name, operand[order]) for name, operand in operations]
    return Steps(tuple(steps), _scaling(operations), columns.imputes or imputes, columns.encoder, order)


def _scaling(operations: list[Operation]) -> Scaling | None:
    return Scaling(tuple(operations)) if operations else None


def _read_numeric(steps: Sequence[Any]) -> tuple[list[Operation], bool]:
    """Return what scalers do to their columns, and whether there is an imputer among them."""
    operations: list[Operation] = []
    imputes = False
    for step in steps:
        read = lookup(STEPS, step, "steps before a model")
        check_is_fitted(step)
        operations += [
            (name, np.broadcast_to(np.asarray(v, dtype=float), step.n_features_in_)) for name, v in read(step)
        ]
        imputes |= read is _imputer
    return operations, imputes


# --- scalers and imputers ----------------------------------------------------------------------------


def _standard(step: Any) -> Iterator[tuple[str, Any]]:
    if step.with_mean:
        yield "subtract", step.mean_
    if step.with_std:
        yield "divide", step.scale_


def _robust(step: Any) -> Iterator[tuple[str, Any]]:
    if step.with_centering:
        yield "subtract", step.center_
    if step.with_scaling:
        yield "divide", step.scale_


def _min_max(step: Any) -> Iterator[tuple[str, Any]]:
    yield "multiply", step.scale_
    yield "add", step.min_
    if step.clip:
        yield from _clip(*step.feature_range)


def _max_abs(step: Any) -> Iterator[tuple[str, Any]]:
    yield "divide", step.scale_
    if getattr(step, "clip", False):
        yield from _clip(-1.0, 1.0)


def _clip(low: float, high: float) -> Iterator[tuple[str, Any]]:
    yield "maximum", low
    yield "minimum", high


def _imputer(step: Any) -> list[tuple[str, Any]]:
    """Check that an imputer changes the holes and nothing else."""
    if not is_missing(step.missing_values):
        refuse(step, f"its missing_values are {step.missing_values!r}, but holes are NaN here. Replace them by NaN.")
    if len(step.get_feature_names_out()) != step.n_features_in_:
        refuse(
            step,
            "it adds or drops columns. Train with add_indicator=False and keep_empty_features=True, or without columns "
            "in which nothing was observed.",
        )
    return []


STEPS: dict[str, Callable[[Any], Iterable[tuple[str, Any]]]] = {
    "StandardScaler": _standard,
    "RobustScaler": _robust,
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": _max_abs,
    "SimpleImputer": _imputer,
    "KNNImputer": _imputer,
    "IterativeImputer": _imputer,
}


# --- columns with transformers of their own ----------------------------------------------------------


@dataclass
class _Columns:
    """What a ColumnTransformer does to the columns of its frame."""

    names: list[Any]
    levels: list[tuple[Level, ...] | None]
    """As in `TableEncoder`; no levels for a column that is not used."""
    outputs: list[Indices]
    """For each column, the transformer's columns that it becomes."""
    branches: list[tuple[Indices, list[Operation]]] = field(default_factory=list)
    imputes: bool = False

    @property
    def encoder(self) -> TableEncoder:
        return TableEncoder(tuple(self.names), tuple(self.levels))

    @property
    def order(self) -> Indices:
        return np.concatenate(self.outputs)

    @property
    def operations(self) -> list[Operation]:
        """What is done to encoded columns, one branch after the other."""
        starts, width = self.encoder.starts, len(self.order)
        found = []
        for columns, operations in self.branches:
            for name, operand in operations:
                every = np.full(width, NOTHING[name])
                every[starts[columns]] = operand
                found.append((name, every))
        return found


def _read_columns(transformer: Any) -> _Columns:
    check_is_fitted(transformer)
    if not hasattr(transformer, "feature_names_in_"):
        refuse(transformer, "it was trained on an array. Train it on a DataFrame, whose columns have names.")
    if transformer.transformer_weights:
        refuse(transformer, "its transformer_weights scale whole transformers. Leave them out, or scale inside these.")
    names = list(transformer.feature_names_in_)
    no_columns = np.zeros(0, dtype=np.intp)
    found = _Columns(names, [()] * len(names), [no_columns] * len(names))
    for branch, step, chosen in transformer.transformers_:
        columns = _column_numbers(transformer, names, chosen)
        if (isinstance(step, str) and step == "drop") or not len(columns):
            continue
        twice = [names[j] for j in columns if found.levels[j] != ()]
        if twice:
            refuse(
                transformer, "it uses the column {column} twice. Let one of its transformers have it.", column=twice[0]
            )
        made = transformer.output_indices_[branch]
        outputs = np.arange(made.start, made.stop)
        steps = [each for each in flat([step]) if not _passes(each)]
        if steps and type(steps[-1]) is OneHotEncoder:
            category_levels = _levels(steps, [names[j] for j in columns])
            levels: list[tuple[Level, ...] | None] = [*category_levels]
            ends = np.cumsum([len(each) for each in category_levels])
            found.imputes |= len(steps) > 1
        else:
            levels = [None] * len(columns)
            ends = np.arange(1, len(columns) + 1)
            operations, imputes = _read_numeric(steps)
            found.branches.append((columns, operations))
            found.imputes |= imputes
        if len(outputs) != ends[-1]:
            refuse(transformer, f"its part {branch!r} makes {len(outputs)} columns of {len(columns)}.")
        for j, each, part in zip(columns, levels, np.split(outputs, ends[:-1]), strict=True):
            found.levels[j], found.outputs[j] = each, part
    return found


def _passes(step: Any) -> bool:
    """Whether a step leaves columns as they are."""
    if type(step) is FunctionTransformer:
        return step.func is None
    return step is None or (isinstance(step, str) and step == "passthrough")


def _column_numbers(transformer: Any, names: list[Any], chosen: Any) -> Indices:
    """Return the numbers of the columns that a part of a ColumnTransformer has."""
    numbers = np.arange(len(names))
    if isinstance(chosen, slice) and any(isinstance(end, str) for end in (chosen.start, chosen.stop)):
        refuse(transformer, "it chooses columns by a slice of names. List their names.")
    if isinstance(chosen, slice):
        return numbers[chosen]
    entries = np.atleast_1d(np.asarray(chosen, dtype=object))
    if any(isinstance(each, str) for each in entries):
        return np.array([names.index(each) for each in entries], dtype=np.intp)
    return np.atleast_1d(numbers[np.asarray(chosen)]) if len(entries) else numbers[:0]


def _levels(steps: Sequence[Any], names: Sequence[Any]) -> list[tuple[Level, ...]]:
    """Return the levels of the columns that a OneHotEncoder has, perhaps after an imputer."""
    *before, encoder = steps
    for step in before:
        if lookup(STEPS, step, "steps before a model") is not _imputer:
            refuse(step, "it changes categories before they are encoded. Leave it out.")
        _imputer(step)
        if getattr(step, "strategy", None) == "constant":
            refuse(step, "it gives missing categories a level of their own. Train with strategy='most_frequent'.")
    if encoder.drop_idx_ is not None:
        refuse(encoder, "it drops levels, which makes the penalty depend on which. Train with drop=None.")
    if any(rare is not None for rare in getattr(encoder, "infrequent_categories_", ())):
        refuse(encoder, "it joins rare levels. Join them before, or train without min_frequency and max_categories.")
    found: list[tuple[Level, ...]] = []
    for name, categories in zip(names, encoder.categories_, strict=True):
        levels = tuple(np.asarray(categories).tolist())
        if any(is_missing(level) for level in levels):
            refuse(
                encoder,
                "it makes a missing {column} a level of its own, and here a missing category is any of the others. "
                "Put SimpleImputer(strategy='most_frequent') before it; for None, with missing_values=None.",
                column=name,
            )
        if not all(isinstance(level, Level) for level in levels):
            kind = type(levels[0]).__name__
            refuse(encoder, "the levels of {column} are of type {kind}. Turn them into text.", column=name, kind=kind)
        found.append(levels)
    return found
