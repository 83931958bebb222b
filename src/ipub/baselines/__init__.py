"""What others do about missing values: the rivals of our bounds."""
