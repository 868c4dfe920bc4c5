"""MapReduce in the paper's sense: over tables or files, on the processors of this machine or an engine's.

    from hbtable import mapreduce

    def words(row, columns):
        for word in columns[b"contents:"].split():
            yield word, 1

    def total(word, counts):
        yield word, {b"n:count": b"%d" % sum(counts)}

    mapreduce.run(db.table("webtable"), words, total, db.table("counts"), columns=["contents:"])

job.py says what a job is and keeps it for a later run, tasks.py maps and reduces a part of it, engines.py gives the
tasks to whoever runs them, counting.py counts.
"""

from hbtable.mapreduce.counting import count
from hbtable.mapreduce.engines import run
from hbtable.mapreduce.job import JobResult

__all__ = ["JobResult", "count", "run"]
