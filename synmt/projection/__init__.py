"""Trees carried over word links, from parsed sentences to their translations.

`direct` and `votes` say what a source says of a target's words; `reading` weighs that, or a `grammar` that is learnt
from a corpus of it, by `loglinear` models of `features`; `tree` makes one tree, with `punctuation` in its place;
`constituents` carries phrases over. `stream` is the way from lines to lines. No torch.
"""
