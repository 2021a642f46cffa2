"""Trees carried over word links, from parsed sentences to their translations.

`direct` and `votes` say what a source says of a target's words, `tree` makes one tree of what several say, with
`punctuation` in its place; `constituents` carries phrases over. `stream` is the way from lines to lines. No torch.
"""
