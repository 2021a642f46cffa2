"""The Transformer core: tensors in, tensors out. It imports no tree, component or file."""
