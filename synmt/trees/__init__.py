"""Trees without tensors: constituency, dependency, transitions, linearizations, parse records.

May import numpy and msgspec, but neither torch nor a parser.
"""
