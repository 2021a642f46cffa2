"""Aligners that read word links off two translation models, one of each direction."""
