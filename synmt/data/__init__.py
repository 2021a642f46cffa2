"""From lines to batches: records, the columns on disk that hold their numbers, and batches of tensors."""
