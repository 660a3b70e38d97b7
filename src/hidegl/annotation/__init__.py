"""Labels that a person gives: events in a SQLite file, and the keys by which their rows are known again."""
