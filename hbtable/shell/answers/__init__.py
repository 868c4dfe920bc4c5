"""Formats of answers: HBase's lines, tables, JSON, CSV."""
