"""HDFS over Hadoop's own protocol, through the library hdfs-native (docs/hdfs.md)."""
