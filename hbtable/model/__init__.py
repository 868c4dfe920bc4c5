"""The vocabulary of hbtable as plain values: cells, mutations, ranges, schemas, tablets, read specifications.

Pure: no I/O, no clock. Keys and values are `bytes`, times are i64 milliseconds, ranges are half-open.
"""
