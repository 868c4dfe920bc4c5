"""Finds the files that nobody needs any more, and deletes them (paper, section 6)."""
