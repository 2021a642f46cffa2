"""The commands as Python functions, from iterables to lists or iterators (docs/python.md).

A sentence is a line that the commands can read, or a ParseRecord. Options are fields of the configs that the commands
use. Unusable input raises BadInput, with its place and the cause on one line; invalid arguments raise ValueError or
TypeError; doubtful input causes a warning.
"""
