"""Who aligns words, and how links come out of what they say."""
