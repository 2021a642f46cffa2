"""Tests of word aligners, and of how links are extracted from their output."""
