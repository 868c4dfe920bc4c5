"""Reads a data folder and its lock service without the servers' code paths, and mends damage.

Reading order:
    lock_store        the lock service: in one machine's folder, or a cluster's
    lock_files        its small files, each for itself
    log_salvage       the sound records of a log, and what is missing between them
    evidence          all files of a folder: which are sound, and what SSTables say of themselves
    metadata_reading  METADATA's rows from its SSTables and logs, as far as they can be read
    rebuilding        pure: a table's tablets from the identities of its SSTables
    planning          pure: which rows of METADATA are to change
    withholding       tablets that an operator has withheld, or releases
    backup            what is changed is kept first
    writing           new SSTables, METADATA, logs, root record, counters
    mending           the order of it all
    taking_back       what an interrupted repair of a cluster changed is put back
Nothing of this runs while a server does, but for the check of a cluster:
    served_metadata   METADATA as its servers have it
    looking_again     what looks damaged may just have changed
"""
