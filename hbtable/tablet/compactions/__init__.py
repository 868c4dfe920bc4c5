"""Compactions: chooses what to compact, and does it (paper, section 5.4)."""
