"""Finds tablets (paper, section 5.1): row keys of METADATA, the three-level locator, typed compare-and-set writes.

layout.py and tiling.py are pure; metadata_calls.py reaches METADATA's own tablets; locator.py caches; catalog.py
writes.
"""
