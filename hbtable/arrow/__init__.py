"""Tables as Arrow's record batches, and back, for DuckDB, Polars, pandas and whatever else reads Arrow.

decoding.py makes an Arrow column of a column's values; forms.py record batches of a scan's pages, on either side of a
connection; wire.py the bytes that a server sends of them. All need pyarrow, which is an extra: whoever imports them
does so when he is asked for them.
"""
