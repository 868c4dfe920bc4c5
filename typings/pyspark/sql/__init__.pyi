from typing import Any

class SparkSession:
    dataSource: Any
    read: Any

class DataFrame: ...
