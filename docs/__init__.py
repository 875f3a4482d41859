"""The documentation, and what makes it."""
