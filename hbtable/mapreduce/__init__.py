"""MapReduce in the paper's sense: over tables or files, on the processors of this machine or an engine's.

    from hbtable import mapreduce

    def words(row, columns):
        for word in columns[b"contents:"].split():
            yield word, 1

    def total(word, counts):
        yield word, {b"n:count": b"%d" % sum(counts)}

    mapreduce.run(db.table("webtable"), words, total, db.table("counts"), columns=["contents:"])

job.py says what a job is, running.py begins it or goes on with it, tasks.py maps and reduces a part of it, engines.py
gives the tasks to whoever runs them, work_folder.py keeps what is done, recognition.py tells jobs from each other, and
counting.py counts.
"""

from hbtable.mapreduce.counting import count
from hbtable.mapreduce.job import JobResult
from hbtable.mapreduce.running import run

__all__ = ["JobResult", "count", "run"]
