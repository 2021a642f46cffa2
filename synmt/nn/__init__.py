"""The Transformer core: tensors in, tensors out. Knows no tree, no paper and no file."""
