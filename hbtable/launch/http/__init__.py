"""HTTP pages of a server about itself: metrics, health, slow requests."""
