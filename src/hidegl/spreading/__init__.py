"""§3.3–3.4: the graph over all rows, and the rules by which labels spread over it."""
