"""synmt: syntax in neural machine translation.

Imports run one way: cli → (alignment, inspection) → training → decoding → systems → (nn, parsers) → (text, trees,
metrics) → streams.
"""

__version__ = "0.1.0"
