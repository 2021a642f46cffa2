"""What a model is: its two sides, its folder, its batches, and how lines become records."""
