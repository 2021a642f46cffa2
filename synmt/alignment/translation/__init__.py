"""Aligners that read word links from two translation models, one per direction."""
