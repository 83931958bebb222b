"""Sets that hold the model of every completion, and what they say about the score of a row."""
