"""How the embedded models are made from treebanks; `bin/train-parsers` runs it. Nothing else imports it."""
