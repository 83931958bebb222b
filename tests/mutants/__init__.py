"""Hand-made errors in the certificates, each of which some test must notice: ``make mutants``.

A mutant is one small change of the source that makes a bound wrong: a dropped term, a swapped sign, a halved radius,
rounding inward. Each is put into a copy of the source, never into the working tree, and a few tests are run on the
copy. A mutant that no test notices (a survivor) is a hole in the tests, unless it is argued that it makes no bound
wrong.
"""
