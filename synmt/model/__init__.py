"""Translation models: their two sides, their folders, and the words that they read."""
