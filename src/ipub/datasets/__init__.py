"""Real tables with genuine holes, to try things on."""

from ipub.datasets.mammographic_masses import load_mammographic_masses

__all__ = ["load_mammographic_masses"]
