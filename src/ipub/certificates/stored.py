"""The dataclasses that a certificate is made of, so that a model file may hold one."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args, get_type_hints

from ipub.certificates.per_row.pointwise import PointwiseBounds
from ipub.certificates.row_sums.bounds import RowSumBounds
from ipub.certificates.row_sums.one_matrix import OneMatrixBounds
from ipub.certificates.slopes.bounds import SlopeBounds
from ipub.losses import LOSSES
from ipub.model_sets.certificate import Certificate
from ipub.model_sets.draws import DrawBounds
from ipub.model_sets.region import Region
from ipub.model_sets.supports import SupportBounds


def _dataclasses_in(kind: Any) -> dict[type, None]:
    """Return a dataclass and those among its fields, or those that a type such as ``tuple[A, ...] | None`` names."""
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        return {found: None for part in get_args(kind) for found in _dataclasses_in(part)}
    hints = get_type_hints(kind)
    fields = (hints[field.name] for field in dataclasses.fields(kind))
    return {kind: None} | {found: None for hint in fields for found in _dataclasses_in(hint)}


BOUNDS = (Region, SlopeBounds, PointwiseBounds, DrawBounds, RowSumBounds, OneMatrixBounds, SupportBounds)

KINDS = (Certificate, *BOUNDS, *LOSSES.values())

PARTS: tuple[type, ...] = tuple(dict.fromkeys(found for kind in KINDS for found in _dataclasses_in(kind)))
"""All of them, found by the types of their fields."""
