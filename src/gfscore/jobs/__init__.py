"""One module a command, which alone knows the order of the stages; all faces call its function by the same words."""
