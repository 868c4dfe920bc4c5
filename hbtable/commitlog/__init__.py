"""The commit log of a tablet server: group commit, fencing, reading, sorting (paper, sections 5.3 and 6).

The way from CommitLog.commit (interface.py) to durable, in the kind of log that opening.py chose:

    queue.py              it joins the batch that waits for its turn

      open files: a local disk, HDFS natively            whole files: WebHDFS
      writer.py        one task takes batch after batch  group_files/writer.py    several batches are under way at a time
      segments/rolling.py  finds it a segment with room      group_files/sending.py  each is put as a file of its own
      appender.py      appends it as a group, syncs it (log_end.py)
      switching.py     the same on HDFS: a late group goes on in another segment

    hedging.py            on a cluster a late group is sent a second way, and a third
    fence_check.py        on a cluster nothing is acknowledged before the fence was seen absent
    acknowledging.py      it is applied, and whoever waits is told

Damage: high_water.py notes beside the log up to where it was synced. salvage.py takes what is sound of a damaged log,
and describes the gaps.py between.

How a log ends, closed or broken: state.py. What may be deleted: ledger.py, and for whole files group_files/retention.py.
Bytes: records.py in groups.py in a segment.py, or in a group_file.py. After the writer: fencing.py ends its log and
publishes a manifest.py, reading.py says what counts, sorting.py brings it in order, and sorted_logs.py to the tablets.
"""
