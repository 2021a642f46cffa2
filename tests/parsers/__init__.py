"""The parsers with the embedded models, loaded once a session."""
