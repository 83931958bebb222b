"""How a float result becomes a bound: outward rounding, verified linear algebra, compiled loops, threads."""
