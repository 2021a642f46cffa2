"""Training: reading pairs, their columns, the loop, validation, checkpoints, and several processes."""
