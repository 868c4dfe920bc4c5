"""The choice of a server for each tablet, and how tablets are moved, balanced and merged (paper, section 5.2)."""
