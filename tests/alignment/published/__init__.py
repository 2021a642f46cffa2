"""Aligners on translation models: tests that apply to all of them, and tests of each."""
