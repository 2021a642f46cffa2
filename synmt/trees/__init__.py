"""Trees without tensors: constituency, dependency, subwords, linearizations, relations, parse records.

Imports numpy and orjson at most; never torch, never a parser.
"""
