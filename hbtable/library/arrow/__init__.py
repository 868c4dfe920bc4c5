"""Tables as Arrow's record batches (Table.to_arrow), for DuckDB, Polars, pandas and whatever else reads Arrow.

decoding.py makes an Arrow column of a column's values, reading.py record batches of a scan's pages. Both need pyarrow,
which is an extra: nothing else of hbtable imports this package.
"""
