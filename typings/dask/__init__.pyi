"""The part of dask that hbtable names, for type checkers where it is not installed."""
