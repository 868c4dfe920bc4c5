"""hbtable copy: tables from one server to another through Thrift, either of which may be a real HBase."""
