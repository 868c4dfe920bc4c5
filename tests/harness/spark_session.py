"""A session of Spark in this process, which keeps to loopback and to a folder."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

_ENVIRONMENT: Final = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


@contextmanager
def spark_session(folder: Path, settings: Mapping[str, str]) -> Iterator[Any]:
    """With two threads, and the settings besides."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "spark"),
        "spark.python.daemon.module": "tests.harness.spark_workers",
        **settings,
    }.items():
        builder = builder.config(name, value)
    with patch.dict(os.environ, _ENVIRONMENT):
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()
