"""Immutable sorted files of cells (paper, section 4): built as bytes to append, read through `read_at`.

Pure: nothing here opens a file. Reading order: layout, block, index, bloom, properties, builder, cache, reader.
"""
