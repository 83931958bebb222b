"""The training problem, and how it is solved."""
