"""Spark and Dask jobs that count and sum a numbers_table once, and tell how far they are while they run."""

from typing import Any, Protocol

import dask
from dask.callbacks import Callback

import hbtable
from hbtable import dataflow
from tests.harness.numbers_table import TYPES, Totals


class Job(Protocol):
    """Reads the table once. Its tasks are the table's tablets, ascending."""

    def compute(self) -> Totals: ...

    def done(self) -> int:
        """How many tasks have been read."""

    def reading(self) -> int:
        """The task that began last."""


class SparkJob:
    """It takes the tasks in their order."""

    def __init__(self, spark: Any, table: hbtable.Table) -> None:
        self._frame = dataflow.to_spark(spark, table, TYPES)
        self._context = spark.sparkContext
        self._before = set(self._context.statusTracker().getJobIdsForGroup())

    def compute(self) -> Totals:
        found = self._frame.rollup("`c:group`").agg({"*": "count", "c:n": "sum"})  # the groups, and None for all
        return {
            group: (count, sum) for group, count, sum in found.select("`c:group`", "`count(1)`", "`sum(c:n)`").collect()
        }

    def done(self) -> int:
        tracker = self._context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in set(tracker.getJobIdsForGroup()) - self._before]
        stages = sorted(stage for job in jobs if job for stage in job.stageIds)
        first = tracker.getStageInfo(stages[0]) if stages else None
        return first.numCompletedTasks if first else 0

    reading = done


class DaskJob(Callback):  # type: ignore[misc]  # Dask has no types
    def __init__(self, table: hbtable.Table) -> None:
        super().__init__(pretask=self._begun, posttask=self._ended)
        self._frame = dataflow.to_dask(table, TYPES)
        self._begun_last = self._done = 0

    def compute(self) -> Totals:
        longs = self._frame["c:n"]
        groups = self._frame.groupby("c:group")["c:n"].agg(["count", "sum"])
        with self:
            count, sum, by = dask.compute(longs.count(), longs.sum(), groups, scheduler="threads", num_workers=2)
        found: Totals = {group: (int(one["count"]), int(one["sum"])) for group, one in by.iterrows()}
        return {None: (int(count), int(sum)), **found}

    def done(self) -> int:
        return self._done

    def reading(self) -> int:
        return self._begun_last

    def _begun(self, key: Any, *_: object) -> None:
        if key[0].startswith("hbtable-"):
            self._begun_last = key[1]

    def _ended(self, key: Any, *_: object) -> None:
        if key[0].startswith("hbtable-"):
            self._done += 1
