"""The two estimators, what they are once they are fitted, and models from files."""
