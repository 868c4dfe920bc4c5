"""The part of pyspark that hbtable names, for type checkers where it is not installed."""
