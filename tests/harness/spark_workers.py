"""Spark's daemon of Python workers, which are its forks: with what they import, so that not each imports it anew."""

from pyspark.daemon import manager

import hbtable.dataflow.spark_source  # noqa: F401

if __name__ == "__main__":
    manager()
