"""Parts that several certificates of one problem have in common, computed once.

The half-ball, say, is a certificate by itself, and the slopes and the tight certificate start from it. All are pure
functions of a problem and a trained model, with the same bits for the same input, so a bound is the same whether such
a part is computed again or not.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from unittest import mock

from ipub.certificates import Recipe

PARTS = ("certify_origin", "certify_sphere", "certify_ball", "certify_slopes", "attempt_slope_bounds")
"""Functions of `ipub.certificates` that other certificates call."""


@contextmanager
def parts_computed_once() -> Iterator[Callable[[Callable], Callable]]:
    """Let the certificates of this block remember their common parts, and nothing beyond it.

    Yields what turns a certificate into one that remembers, if it is a part itself.
    """
    remembering: dict[Callable, Callable] = {}
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("ipub.certificates")]
    with ExitStack() as stack:
        for module in modules:
            for name, value in list(vars(module).items()):
                if inspect.isfunction(value) and value.__name__ in PARTS and value.__module__.startswith("ipub."):
                    if value not in remembering:
                        remembering[value] = _once(value)
                    stack.enter_context(mock.patch.object(module, name, remembering[value]))
        assert len(remembering) >= len(PARTS), "a part of the certificates has another name"

        def once(make: Callable) -> Callable:
            if isinstance(make, Recipe):
                return replace(make, make=remembering.get(make.make, make.make))
            return remembering.get(make, make)

        yield once


def _once(function: Callable) -> Callable:
    found: dict[tuple[int, ...], tuple] = {}
    signature = inspect.signature(function)

    @functools.wraps(function)
    def remembering(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        key = tuple(map(id, given.arguments.values()))
        if key not in found:
            # The arguments are kept as well: no other object can have their identity meanwhile.
            found[key] = function(*args, **kwargs), given
        return found[key][0]

    return remembering
