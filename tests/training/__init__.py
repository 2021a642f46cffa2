"""Tests of training: updates, checkpoints, interruption, several processes, and refusals."""
