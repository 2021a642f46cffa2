"""Scores of translations. No torch."""
