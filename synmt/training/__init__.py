"""Data loading, the training loop, schedules, checkpoints and distribution."""
