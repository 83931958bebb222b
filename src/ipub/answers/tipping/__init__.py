"""When does a prediction tip: how many missing values must differ from the filled-in ones, which, and how far."""
