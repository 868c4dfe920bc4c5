"""Ports' adapters for tests and simulation, and fakes of foreign servers. Nothing that serves users imports them."""
