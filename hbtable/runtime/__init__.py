"""The runtime port: clock, greenlets, waiting, blocking work, sockets. Only this package knows gevent.

interface.py states the promises; gevent_runtime.py is the real adapter; testing/simulated/runtime.py runs the same code
under a seeded scheduler with virtual time.
"""
