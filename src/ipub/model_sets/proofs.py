"""How sets are proved and made smaller: two loops, whatever the theorem (lem-no-exit).

Brackets of an intercept, and searches for single rows, have loops of their own: none of them proves a set.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, Protocol, TypeVar

from ipub.model_sets.base import Outcome, Reason

MOST_ROUNDS = 16
"""How often a guess is widened, or a set narrowed, at most: it protects from rounds without end. Both mostly end by
themselves after a few."""

G = TypeVar("G")
S = TypeVar("S")
K = TypeVar("K", contravariant=True)
R = TypeVar("R", covariant=True)


class Relaxation(Protocol[K, R]):
    """One theorem: the minimisers that lie in a set also lie in another one, which it returns."""

    def __call__(self, known: K, /) -> R:
        """Apply the theorem to a set."""


class Relaxed(NamedTuple, Generic[G, S]):
    """What a theorem says of the minimisers in a guess."""

    found: S
    """A set that holds them."""
    is_inside: bool
    """Whether it is strictly inside the guess: then no minimiser leaves the guess, and the set holds all of them."""
    wider: G
    """The next guess, if it is not."""
    is_hopeless: bool = False
    """Whether that is not worth a try."""


def prove(relax: Relaxation[G, Relaxed[G, S] | None], guess: G) -> tuple[Outcome[S], G]:
    """Widen a guess until what follows from it lies strictly inside it (lem-no-exit); return the last guess too.

    `relax` is about the minimisers of all objectives on the way from the trained model to the completions; it returns
    None where it says nothing. A guess holds the trained model in its interior.
    """
    for _ in range(MOST_ROUNDS):
        step = relax(guess)
        if step is None:
            return Outcome(None, Reason.UNBOUNDED), guess
        if step.is_inside:
            return Outcome(step.found, Reason.PROVED), guess
        guess = step.wider
        if step.is_hopeless:
            return Outcome(None, Reason.HOPELESS), guess
    return Outcome(None, Reason.NOT_CLOSED), guess


class Narrower(NamedTuple, Generic[S]):
    """A set that was narrowed by a theorem."""

    known: S
    """What the set that was known and that of the theorem have in common."""
    goes_on: bool
    """Whether it is to be narrowed again."""


def narrow(relax: Relaxation[S, Narrower[S]], known: S, most_rounds: int = MOST_ROUNDS) -> S:
    """Narrow a set that is proved, again and again; `relax` is about the models of completions alone."""
    for _ in range(most_rounds):
        known, goes_on = relax(known)
        if not goes_on:
            break
    return known
