"""synmt: syntax in neural machine translation.

Imports run one way: cli → (inspection, alignment) → training → decoding → model → systems → nn, and
(parsers, challenge) → metrics → trees → text → (streams, options, registry); tests/test_imports.py holds it.
"""

__version__ = "0.1.0"
