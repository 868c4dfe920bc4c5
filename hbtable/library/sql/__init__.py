"""SQL over tables, by DuckDB (pip install 'hbtable[sql]').

pushdown.py finds in a filter of Arrow's what a scan can leave out, relation.py is a table as DuckDB reads it, query.py
runs a statement.
"""
