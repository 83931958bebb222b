"""Bounds for all tables that differ little from a filled-in one: budgets of holes and wrong cells (section 14)."""
