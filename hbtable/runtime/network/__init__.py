"""Sockets of the runtime: listening and connecting, TLS, pages over HTTP, and who is cut off when a port is full."""
