"""Users and permissions (paper, section 2: access control at the granularity of column families).

    user.py           a user, and for which one a task works
    options.py        superusers, and who is in which group
    passwords.py      hashes of passwords and tokens
    accounts.py       users with their hashes and tokens, as bytes
    position_seal.py  positions of scans that a client carries and cannot read
    position_key.py   the key for them in the lock service
    store.py          where that list is kept: read, changed, watched
    tries.py          how often somebody may try a password
    verification.py   whether a client is the user that it says it is
    actions.py        the five rights: read, write, execute, create, administer
    scopes.py         where a right is held: everywhere, or a namespace, table, family, column
    grants.py         who was given what: immutable
    table_rights.py   what of one table a user has a right to, for the data path
    permissions.py    grants and superusers together: the answer to "may he?"
    denials.py        what whoever is refused reads
    data_checks.py    the checks of reads and writes
    grants_record.py  grants as bytes
    grants_file.py    that record in the lock service: read, changed, watched

Nothing here denies: rights add up over the scopes, the user and his groups, and whatever was not granted is refused.
The package is above the lock service, which keeps what a cluster knows of its users; below every package that asks who
a call is of.
"""
