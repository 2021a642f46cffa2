"""A made-up parallel corpus with known syntax, to try every stage on without downloading anything.

A synchronous grammar: `derivation` draws a meaning, `english` and `kel` each say it, with their trees.
Kel is an invented verb-final language. Imports trees/ at most.
"""
