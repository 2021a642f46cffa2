"""A hidden Markov model of subwords with probabilities from embeddings; both directions are trained together."""
