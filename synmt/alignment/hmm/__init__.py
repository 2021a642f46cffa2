"""A hidden Markov model of both directions that agree; numpy alone."""
