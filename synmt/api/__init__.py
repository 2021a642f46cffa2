"""What the commands do, for Python code: iterables in, lists or iterators out (docs/python.md).

A sentence is a line as the commands read it, or a ParseRecord. Settings are the options of the commands, with `_` for
`-`. Input that cannot be used raises BadInput, with its place and the cause in one line; arguments that are wrong
raise ValueError or TypeError; what is doubtful is a warning.
"""
