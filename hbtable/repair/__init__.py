"""What a stopped data folder holds, read without the servers' code paths, and how its damage is mended.

Reading order:
    lock_files        the small files of the lock service, each for itself
    log_salvage       the sound records of a log, and what is missing between them
    evidence          all files of a folder: which are sound, and what SSTables say of themselves
    metadata_reading  METADATA's rows from its SSTables and logs, as far as they can be read
    rebuilding        pure: a table's tablets from the identities of its SSTables
    planning          pure: which rows of METADATA are to change
    backup            what is changed is kept first
    writing           new SSTables, METADATA, logs, root record, counters
    mending           the order of it all
Nothing here runs while a server does.
"""
