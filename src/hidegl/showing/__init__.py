"""What people look at: maps, tallies, colours, plots, notebooks and the report."""
