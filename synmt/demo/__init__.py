"""An artificial parallel corpus with known syntax, for trying every command without a download.

It comes from a synchronous grammar: `derivation` samples a meaning, and `english` and `kel` express it, with trees.
Kel is an invented verb-final language. This package imports nothing of synmt above trees/.
"""
