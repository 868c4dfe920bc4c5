"""A log after its writer: it is ended, read, salvaged where it is damaged, and sorted for the tablets."""
