"""What draws fillings: one protocol, and which sampler a user's choice means."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ipub.promises import Draws
from ipub.training.imputing.chained import Chained
from ipub.training.imputing.holes import Filling, Holes
from ipub.training.imputing.hot_deck import HotDeck
from ipub.training.imputing.user_imputer import UserImputer


class Sampler(Protocol):
    """A law of the missing values from which fillings can be drawn."""

    def draw(self, rng: np.random.Generator) -> Filling:
        """Draw a filling; draws with independent generators are independent."""
        ...


def sampler_of(draws: Draws, holes: Holes) -> Sampler:
    """Return the sampler that `draws` names, for the holes of a table."""
    if isinstance(draws.imputer, str):
        return HotDeck(holes) if draws.imputer == "hot_deck" else Chained(holes)
    return UserImputer(holes, draws.imputer, draws.name, draws.clip)
