"""Beam search, and translation of a stream."""
