"""What every room may use: checks of parameters, k×k algebra, memory, progress, files that are written whole."""
