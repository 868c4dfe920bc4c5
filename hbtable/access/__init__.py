"""Who a client is, and for which user a task works: user.py first.

Above the lock service, which keeps what a cluster knows of its users; below every package that asks who a call is of.
"""
