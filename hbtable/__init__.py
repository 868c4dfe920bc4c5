"""hbtable: Bigtable in Python with HBase's Thrift interface as its front door."""

__version__ = "0.1.0"
