"""HDFS in memory, with what goes wrong there: behind WebHDFS, and behind the library hdfs-native."""
