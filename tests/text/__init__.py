"""Subwords and tokens."""
