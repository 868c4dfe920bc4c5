"""What a server shows of itself over HTTP: metrics, health, slow requests."""
