"""A write's way through a tablet: its turn, its checks, its time and sequence, the log."""
