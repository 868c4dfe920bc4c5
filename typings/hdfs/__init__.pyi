# What hbtable uses of the package hdfs is in its ext.
