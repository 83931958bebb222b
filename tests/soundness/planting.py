"""Planted errors: a function of the package replaced wherever it was imported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType

import pytest


def plant_function(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, value: object) -> None:
    """Replace an attribute; that of a module in every module of the package that imported it."""
    honest = getattr(owner, name)
    monkeypatch.setattr(owner, name, value)
    if isinstance(owner, ModuleType):
        for key, module in list(sys.modules.items()):
            if key.split(".")[0] == "ipub" and vars(module).get(name) is honest:
                monkeypatch.setattr(module, name, value)


@contextmanager
def planted_function(owner: object, name: str, value: object) -> Iterator[None]:
    """Replace an attribute for some time; see `plant_function`."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        plant_function(monkeypatch, owner, name, value)
        yield


def with_changes(result, **changes: Callable):
    """Return a dataclass or a named tuple with some fields changed; None stays."""
    if result is None:
        return None
    changed = {field: change(getattr(result, field)) for field, change in changes.items()}
    return result._replace(**changed) if isinstance(result, tuple) else replace(result, **changed)


def altered(owner: object, name: str, **changes: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what makes a function give a result with other fields."""
    honest = getattr(owner, name)
    return replaced(owner, name, lambda *args, **kwargs: with_changes(honest(*args, **kwargs), **changes))


def replaced(owner: object, name: str, value: object) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what puts something else in the place of a function."""
    return lambda monkeypatch: plant_function(monkeypatch, owner, name, value)


def scaled(owner: object, name: str, factor: float) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what makes a function give so many times what it gives, or each of its parts."""
    honest = getattr(owner, name)

    def planted(*args, **kwargs):
        found = honest(*args, **kwargs)
        if not isinstance(found, tuple):
            return factor * found
        parts = [factor * part for part in found]
        return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)

    return replaced(owner, name, planted)
