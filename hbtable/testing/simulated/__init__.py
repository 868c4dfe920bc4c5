"""The runtime for tests: a seeded scheduler and virtual time."""
