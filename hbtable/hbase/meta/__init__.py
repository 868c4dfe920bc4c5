"""METADATA as HBase shows it: the table hbase:meta, to be read.

layout.py has the columns and the order of the rows, meta_rows.py makes them of METADATA's records, meta_table.py reads
them as any other table is read. METADATA itself has another layout (metadata/layout.py); nothing is stored twice.
"""
