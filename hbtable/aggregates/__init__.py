"""Aggregates of rows. Tablets compute them of their pages; gateways and the library merge what comes.

values.py      bytes as numbers
distinct.py    how many different values there were, about
states.py      what is kept of each aggregate: added to, merged, as JSON, and its result
groups.py      rows become groups, each with a state for each aggregate
"""
