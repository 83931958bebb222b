"""Fillings drawn at random: the samplers behind `ipub.Draws`."""

from ipub.training.imputing.drawn_tables import DrawnTables, check_not_deterministic
from ipub.training.imputing.fillings import filling_of
from ipub.training.imputing.holes import Filling, Holes, holes_of
from ipub.training.imputing.samplers import Sampler, sampler_of

__all__ = [
    "DrawnTables",
    "Filling",
    "Holes",
    "Sampler",
    "check_not_deterministic",
    "filling_of",
    "holes_of",
    "sampler_of",
]
