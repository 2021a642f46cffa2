"""Tests of layers, attention, losses and decoders."""
