"""Gateways of one machine carry out calls for each other: by the client's own connection, or call by call."""
