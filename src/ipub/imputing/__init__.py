"""Fillings drawn at random: the samplers behind `ipub.Draws`."""

from ipub.imputing.drawn_tables import DrawnTables, check_not_deterministic
from ipub.imputing.holes import Filling, Holes
from ipub.imputing.samplers import Sampler, sampler_of

__all__ = ["DrawnTables", "Filling", "Holes", "Sampler", "check_not_deterministic", "sampler_of"]
