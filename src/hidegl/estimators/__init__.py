"""The two estimators, their fits, and models from files."""
