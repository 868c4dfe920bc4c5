"""The user a client proved to be, and the user for whom a task works: user.py first.

Above the lock service, which keeps what a cluster knows of its users; below every package that asks who a call is of.
"""
