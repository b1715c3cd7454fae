"""What comes in: files of logits, names and groups."""
