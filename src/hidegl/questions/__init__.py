"""Questions for a person: which rows to label next, and which labels to check again."""
