"""The parsers with the embedded models, loaded once per session."""
