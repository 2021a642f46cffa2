"""Words and subwords: tokenization, byte pair encoding, vocabulary. No torch."""
