"""Helpers for all rooms: parameter checks, k×k algebra, memory, progress, atomic writing of files."""
