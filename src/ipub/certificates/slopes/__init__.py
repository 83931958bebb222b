"""The slope certificate (Theorems 4 and 6): one file a theorem."""
