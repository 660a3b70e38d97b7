"""Reading and writing files: models and tables."""
