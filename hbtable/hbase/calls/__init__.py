"""The calls of HBase's Thrift 1 service (thrift/hbase.thrift), one short method each."""
