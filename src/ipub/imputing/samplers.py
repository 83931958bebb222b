"""What draws fillings: one protocol, and which sampler a user's choice means."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ipub.imputing.chained import Chained
from ipub.imputing.holes import Filling, Holes
from ipub.imputing.hot_deck import HotDeck
from ipub.imputing.user_imputer import UserImputer
from ipub.uncertainty import Draws


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
