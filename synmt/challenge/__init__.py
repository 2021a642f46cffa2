"""Challenge sets: sentences in which words stand far from what they belong to. No torch."""
