"""The part of cel-expr-python that hbtable names: its own stubs are not marked as such."""
