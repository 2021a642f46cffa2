"""Mirrors synmt/."""
