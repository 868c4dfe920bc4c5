"""The part of ray that hbtable names, for type checkers where it is not installed."""
