"""Challenge sets: sentences in which words are far from the words they depend on. No torch."""
