"""Tables for jobs that run in many processes: splits of a table's rows, each read by a task of its own, and writes that
a task may repeat.

    from hbtable import dataflow

    pieces = dataflow.splits(db.table("clicks"), ["c:site"])          # one for each tablet, to be pickled
    for batch in dataflow.read(pieces[0]):                            # in any process
        for row, columns in batch: ...

places.py says how a task gets to the tables, splits.py cuts a table, reading.py and writing.py do a task's work,
frames.py makes lazy frames of other engines, spark.py and spark_source.py those of PySpark, and its writers;
ray_data.py and ray_source.py are for Ray Data, beam.py and beam_transforms.py for Apache Beam.
"""

from hbtable.dataflow.beam import beam_sink, beam_source
from hbtable.dataflow.frames import scan_polars, to_dask
from hbtable.dataflow.places import Place
from hbtable.dataflow.ray_data import ray_sink, to_ray
from hbtable.dataflow.reading import read, read_arrow
from hbtable.dataflow.spark import spark_target, to_spark
from hbtable.dataflow.splits import Split, splits
from hbtable.dataflow.writing import WriteTarget, target, write

__all__ = [
    "Place",
    "Split",
    "WriteTarget",
    "beam_sink",
    "beam_source",
    "ray_sink",
    "read",
    "read_arrow",
    "scan_polars",
    "spark_target",
    "splits",
    "target",
    "to_dask",
    "to_ray",
    "to_spark",
    "write",
]
