"""Counters and histograms in plain slots; the exporter lives in launch (operations: a bound `+= 1` costs 0.04 us)."""
