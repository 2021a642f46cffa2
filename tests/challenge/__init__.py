"""Challenge sets: patterns, queries and generated clauses, compared with slow definitions of them."""
