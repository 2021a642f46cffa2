"""Words and pieces: tokenization, byte pair encoding, vocabulary. No torch."""
