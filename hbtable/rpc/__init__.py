"""Calls between client library, tablet servers and master, in model terms.

services.py: what each role offers. transport.py: how to reach one. local.py: the embedded cluster's transport, a plain
method call.
"""
