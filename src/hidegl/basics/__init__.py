"""What every room may use: parameter checks, k×k algebra, memory, progress, atomic writing of files."""
