"""The pages of a process that has no grants: a master, and the launcher of `hbtable start --servers`.

It knows the users, and of what they may do only who the superusers are: the pages of such a process need no more.
"""

from hbtable.access.options import AuthOptions
from hbtable.access.store import AccountStore
from hbtable.access.verification import Verifier
from hbtable.hbase.security import GatewaySecurity
from hbtable.launch.audit_log import open_audit
from hbtable.launch.http.page_access import PageAccess, page_access
from hbtable.runtime.interface import Runtime
from hbtable.runtime.network.tls import TlsOptions


def superusers_pages(runtime: Runtime, auth: AuthOptions, users: AccountStore) -> PageAccess | None:
    """None: nobody is asked who he is. InvalidConfiguration for an audit that cannot be written."""
    security = GatewaySecurity(TlsOptions(), auth)
    security.ask(Verifier(runtime, users, auth), open_audit(auth, runtime.wall_millis))
    superusers = auth.superuser_names()
    return page_access(security, lambda user: user.is_one_of(superusers), lambda user, _: user.is_one_of(superusers))
