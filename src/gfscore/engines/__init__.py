"""Where the forward passes run."""
