"""Which server serves which tablet, and how tablets are moved, balanced and merged (paper, section 5.2)."""
