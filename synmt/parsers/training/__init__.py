"""How the embedded models are made from treebanks; `bin/train-parsers` runs it. Nothing else imports it.

`treebank` brings treebanks to one set of labels; `constituency` trains the model of English constituents, with the
loss in `chart`, and `evaluation` scores it; `udpipe` trains and scores the models of English and German dependencies,
and `projected` makes a treebank of projected trees. The treebanks are not part of synmt: `bin/train-parsers` says which
they are, and synmt/parsers/models/ATTRIBUTION.md where they come from and under which licences.
"""
