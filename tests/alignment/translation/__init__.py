"""Aligners on translation models: what all of them share, and the laws of each."""
