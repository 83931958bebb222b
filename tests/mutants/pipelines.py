"""Mutants of pipelines with bounds, and of bounds out of fold."""

from __future__ import annotations

from mutants.entry import Mutant

PIPELINES = ("estimators/test_pipelines.py",)
HELD_OUT = ("estimators/test_held_out_bounds.py",)

MUTANTS = (
    Mutant(
        "steps learnt again from the rows to bound",
        "BoundedPipeline.through_steps",
        "after = step.transform(X)",
        "after = clone(step).fit_transform(X)",
        (*PIPELINES, *HELD_OUT),
    ),
    Mutant(
        "the first step left out",
        "BoundedPipeline.through_steps",
        "in self._steps_before():",
        "in list(self._steps_before())[1:]:",
        PIPELINES,
    ),
    Mutant(
        "holes that are filled in unnoticed", "BoundedPipeline.through_steps", "if len(filled):", "if False:", PIPELINES
    ),
    Mutant(
        "a column that is left out and one that is filled in",
        "_used_columns",
        'part == "drop")',
        'part != "drop")',
        PIPELINES,
    ),
    Mutant(
        "a model that stays fitted on what was filled in",
        "BoundedPipeline.fit",
        "self.steps[-1] = (name, clone(last))",
        "self.steps[-1] = (name, last)",
        PIPELINES,
    ),
    Mutant(
        "bounds of cells through steps of any kind",
        "BoundedPipeline._check_cell_bounds",
        "if type(step) not in KEEP_ORDER:",
        "if False:",
        PIPELINES,
    ),
    Mutant(
        "bounds of cells that steps leave behind",
        "BoundedPipeline._check_cell_bounds",
        "if not set(given) <= set(self.transform_input or ()):",
        "if False:",
        PIPELINES,
    ),
    Mutant(
        "text that is missing and counts as known",
        "_missing_in",
        "is_null = column.is_null()",
        "is_null = column.is_null() & column.dtype.is_float()",
        PIPELINES,
    ),
    Mutant(
        "models that have seen the row",
        "cross_val_bounds",
        "_taken(X, train), _safe_indexing(y, train)",
        "X, y",
        HELD_OUT,
    ),
    Mutant(
        "rows of the fold before",
        "cross_val_bounds",
        "held_out = fitted, _taken(X, test)",
        "held_out = fitted, _taken(X, np.roll(test, 1))",
        HELD_OUT,
    ),
    Mutant(
        "folds one after the other, as if that were the order of rows",
        "cross_val_bounds",
        "np.concatenate([part[name] for part in parts])[order]",
        "np.concatenate([part[name] for part in parts])",
        HELD_OUT,
    ),
    Mutant(
        "steps that have seen the row",
        "cross_val_bounds",
        "fitted.through_steps(held_out)",
        "clone(estimator).fit(X, y).through_steps(held_out)",
        HELD_OUT,
    ),
)
