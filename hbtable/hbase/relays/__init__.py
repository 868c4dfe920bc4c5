"""Gateways carry out calls for each other, as they came: those of one machine by the client's own connection or call by
call, those of a cluster by calls between roles."""
