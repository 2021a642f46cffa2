"""Tests of beam search, sampling and forced decoding."""
