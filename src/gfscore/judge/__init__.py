"""What follows from the numbers."""
