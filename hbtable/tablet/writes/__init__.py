"""A write's way through a tablet: its row lock, its checks, its time and sequence, the log."""
