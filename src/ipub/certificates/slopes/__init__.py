"""The slope certificate (thm-move-set and thm-slopes): one file a theorem."""
