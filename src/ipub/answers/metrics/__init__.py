"""Over what range metrics and ranks of a model move, over all completions of its training table."""
