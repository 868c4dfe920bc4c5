"""For programs written for happybase, beside a cluster of several tablet servers:

    from hbtable.happybase import ConnectionPool

in the place of happybase's own. Needs happybase (`pip install 'hbtable[happybase]'`). A call goes to the server that
has the row, as far as is known, and not through another one. library/routes.py knows who has which row,
routed_client.py sends each call on its way, connection_pool.py makes happybase's classes of that.
"""

from hbtable.happybase.connection_pool import Connection, ConnectionPool

__all__ = ["Connection", "ConnectionPool"]
