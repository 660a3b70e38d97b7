"""What to ask a person: which rows to label next, which labels to look at again."""
