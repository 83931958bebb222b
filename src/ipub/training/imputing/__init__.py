"""Fillings drawn at random: the samplers behind `ipub.Draws`; and one filling, for `ipub.Budget`."""
