"""Tablet servers: which live and what they serve, how they leave, and what becomes of a dead one's log."""
