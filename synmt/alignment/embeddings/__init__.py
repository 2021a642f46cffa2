"""Links of words whose states in a pretrained multilingual encoder are alike."""
