"""HDFS over HTTP: files appear whole, by one put whose result is looked at (docs/hdfs.md)."""
