"""Trees: their notations, their relations, and slow definitions of them."""
