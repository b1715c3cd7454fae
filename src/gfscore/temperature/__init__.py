"""Temperature: scores as functions of it, and what choosing one by an objective means."""
