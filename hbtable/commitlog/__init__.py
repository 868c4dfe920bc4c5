"""The commit log of a tablet server: group commit, fencing, reading, sorting (paper, sections 5.3 and 6).

The way from CommitLog.commit (interface.py) to durable, in the kind of log that opening.py chose:

    queue.py              it joins the batch that waits for its turn

      segments/: open files, on a local disk       group_files/: whole files, on WebHDFS
      or on HDFS natively
      writer.py    one task takes batch by batch   writer.py    several batches are under way at a time
      rolling.py   finds it a segment with room    sending.py   each is put as a file of its own
      appender.py  appends it as a group, syncs it (log_end.py)
      failover_appender.py the same on HDFS: a late group goes on in another segment,
                   leaving.py ends the old one, rest_check.py looks after a log at rest

    copies.py             on a cluster the newest file's copies are counted now and then
    hedging.py            on a cluster a late group is sent a second way, and a third
    fence_check.py        on a cluster nothing is acknowledged before the fence was seen absent
    acknowledging.py      it is applied, and whoever waits is told

Damage: segments/high_water.py notes beside the log up to where it was synced. recovery/salvage.py takes what is sound
of a damaged log, and describes the gaps.py between.

How a log ends, closed or broken: state.py. What may be deleted: needs.py and ledger.py, and for whole files
group_files/retention.py. Bytes: records.py in groups.py in a segments/segment.py, or in a group_files/group_file.py.
After the writer, recovery/: fencing.py ends its log and publishes a manifest.py, reading.py says what counts,
sorting.py brings it in order, and recovered_edits.py to the tablets.
"""
