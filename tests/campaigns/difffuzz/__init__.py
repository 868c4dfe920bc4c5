"""Random programs of Thrift1 calls on a real HBase 2.6.1 and on hbtable, call by call; see README.md in this folder."""
