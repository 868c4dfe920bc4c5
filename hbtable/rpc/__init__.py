"""Calls between client library, tablet servers and master, in model terms.

services.py: what each role offers, declared as declaration.py says. transport.py: how to reach one. Within one process
a call is a plain method call (local.py). To another process it goes

    services -> peer (what a failure means) -> connections -> frames ... frames -> thrift_server -> local

as a Thrift message: codec/calls.py has the calls, codec/model.py, codec/cells.py and codec/errors.py the values,
codec/binary.py the bytes.
"""
