"""`hmm` and `neural-hmm` together."""
