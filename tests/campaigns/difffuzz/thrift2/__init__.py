"""Random calls of Thrift2 on cells, on a real HBase and on hbtable."""
