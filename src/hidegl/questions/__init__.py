"""Which rows to label next, which labels to check again, and which predicted labels to accept."""
