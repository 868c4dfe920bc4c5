"""What to compact, and how it is done (paper, section 5.4)."""
