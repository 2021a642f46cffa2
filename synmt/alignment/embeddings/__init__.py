"""Links between words with similar states in a pretrained multilingual encoder."""
