"""Real tables with genuine holes, for examples."""

from ipub.datasets.mammographic_masses import load_mammographic_masses

__all__ = ["load_mammographic_masses"]
