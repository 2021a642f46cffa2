"""Trains the embedded models from treebanks. `bin/train-parsers` runs this; nothing else imports it.

`treebank` converts treebanks to one set of labels. `constituency` trains and scores the model of English constituents,
`udpipe` the models of English and German dependencies. `projected` makes a treebank from projected trees. The treebanks
are not part of synmt: `bin/train-parsers` lists them, and synmt/parsers/models/ATTRIBUTION.md gives sources and
licences.
"""
