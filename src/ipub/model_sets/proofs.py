"""How sets are proved and made smaller: two loops, whatever the theorem (docs/theory.md, No-exit lemma).

Brackets of an intercept, and searches for single rows, have loops of their own: none of them proves a set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from ipub.model_sets.base import Outcome, Reason

MOST_ROUNDS = 16
"""How often a guess is widened, or a set narrowed, at most: it protects from rounds without end. Both mostly end by
themselves after a few."""

G = TypeVar("G")
S = TypeVar("S")


class Relaxed(NamedTuple, Generic[G, S]):
    """What a theorem says of the minimisers in a guess."""

    found: S
    """A set that holds them."""
    is_inside: bool
    """Whether it is strictly inside the guess: then no minimiser leaves the guess, and the set holds all of them."""
    wider: G | None
    """The next guess, if it is not; None if no guess is left to try."""


def prove(relax: Callable[[G], Relaxed[G, S] | None], guess: G) -> Outcome[S]:
    """Widen a guess until what follows from it lies strictly inside it (No-exit lemma).

    `relax` is one theorem, for the minimisers of all objectives on the way from the trained model to the completions;
    None where it says nothing. A guess holds the trained model in its interior.
    """
    for _ in range(MOST_ROUNDS):
        step = relax(guess)
        if step is None:
            return Outcome(None, Reason.UNBOUNDED)
        if step.is_inside:
            return Outcome(step.found, Reason.PROVED)
        if step.wider is None:
            return Outcome(None, Reason.HOPELESS)
        guess = step.wider
    return Outcome(None, Reason.NOT_CLOSED)


def narrow(relax: Callable[[S, int], tuple[S, bool]], known: S, most_rounds: int = MOST_ROUNDS) -> S:
    """Narrow a set that is proved, again and again.

    `relax` is one theorem, for the models of completions that lie in a known set. It takes that set and the number of
    the round, and returns what that set and the one of the theorem have in common, and whether to go on.
    """
    for number in range(most_rounds):
        known, goes_on = relax(known, number)
        if not goes_on:
            break
    return known
