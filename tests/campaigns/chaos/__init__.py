"""Continuous ingest, as Accumulo has it, on real servers that are killed and frozen in turn."""
