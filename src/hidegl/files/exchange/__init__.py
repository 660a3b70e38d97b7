"""Formats of other tools: one module each, with a class that recognises, reads and writes its records."""
