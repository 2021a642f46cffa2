"""Mask-Align: options and reference, networks, losses, validation, fitting and aligning."""
