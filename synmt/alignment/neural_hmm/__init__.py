"""A hidden Markov model of subwords, whose probabilities are those of embeddings; both directions learn together."""
