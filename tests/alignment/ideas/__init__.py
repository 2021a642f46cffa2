"""Formulas of single ideas."""
