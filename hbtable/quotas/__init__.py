"""The limits that operators set: how much users, tables and namespaces may ask of a tablet server in a time.

settings.py        what is set: throttles and exemptions, as values
quotas_record.py   those as bytes
quotas_file.py     that record in the lock service: read, changed, watched
bucket.py          a token bucket
throttling.py      what of a call counts for which bucket; calls that wait, and calls that are refused
"""
