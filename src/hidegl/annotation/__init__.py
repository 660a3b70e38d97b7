"""Labels that a person gives: events in a SQLite file, and the keys that identify their rows."""
