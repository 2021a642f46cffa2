"""The network of mask-align, its losses, and a fitted aligner."""
