"""An artificial parallel corpus with known syntax, to try every command without a download.

A synchronous grammar: `derivation` samples a meaning, `english` and `kel` express it with trees.
Kel is an invented verb-final language. Imports trees/ at most.
"""
