"""Mask-Align, whole: citation and options, networks, losses, corpus, presets, and how it fits and aligns."""
