"""Pieces and tokens."""
