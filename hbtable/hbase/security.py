"""The gateway's demands on a connection before it carries out its calls."""

from typing import TYPE_CHECKING, Final, final

from hbtable.access.options import AuthOptions
from hbtable.access.verification import Verifier
from hbtable.hbase import audit_words
from hbtable.hbase.audit import DENIED, AuditTrail
from hbtable.hbase.codec.interface import ThriftInterface
from hbtable.hbase.errors import JavaError
from hbtable.runtime.network.tls import ServerTls, TlsOptions

if TYPE_CHECKING:
    from hbtable.hbase.transports.kerberos import KerberosService

_NEEDS_TLS: Final = (
    "this server takes calls over TLS only (tls.required): connect with TLS, and with the certificate of the CA that "
    "signed the server's. docs/security.md has the lines for each client"
)
_NEEDS_USER: Final = (
    "this server asks its clients who they are (auth.enabled), and this connection did not say: log in by SASL PLAIN "
    "(hbtable shell --user), over HTTP, or with a certificate. docs/security.md has the lines for each client"
)
_NEEDS_ANOTHER: Final = (
    "This server asks its clients who they are (auth.enabled): connect with a certificate whose CN is a user's name, "
    "or log in by SASL PLAIN or over HTTP. docs/security.md has the lines for each client"
)
_NEEDS_READABLE: Final = (
    "This server asks its clients for certificates (tls.client_ca): connect with one whose names, also those behind "
    "its subject (subjectAltName), are ASCII or UTF-8"
)


@final
class GatewaySecurity:
    """Says which calls one Thrift port carries out. InvalidConfiguration when a file that it needs cannot be used."""

    def __init__(self, tls: TlsOptions, auth: AuthOptions | None = None) -> None:
        self.tls = ServerTls(tls) if tls.certificate else None
        self.auth = auth or AuthOptions()
        self.verifier: Verifier | None = None
        self.audit: AuditTrail | None = None
        self.kerberos: KerberosService | None = None
        self._tls_required = tls.required

    def ask(
        self, verifier: Verifier, audit: AuditTrail | None = None, kerberos: "KerberosService | None" = None
    ) -> None:
        """From now on a client has to say who it is, if auth.enabled is set, and denials are written down. To be called
        before the gateway is made."""
        if self.auth.enabled:
            self.verifier = verifier
            self.audit = audit
            self.kerberos = kerberos
            if audit is not None:
                audit.knows = verifier.knows

    def watch(self, interface: ThriftInterface) -> None:
        """Has the audit hear of its calls, when they are bound."""
        if self.audit is not None:
            thrift2, own = list(interface.thrift2_methods.values()), list(interface.admin_methods.values())
            others = {id(one) for one in (*thrift2, *own)}  # which are among `methods` when they are offered
            self.audit.watch(thrift2, audit_words.THRIFT2)
            self.audit.watch(own, audit_words.ADMIN)
            self.audit.watch((one for one in interface.methods.values() if id(one) not in others), audit_words.THRIFT1)

    def denied(self, client: str, call: str, why: str) -> None:
        """Writes it down, if that is asked for."""
        if self.audit is not None:
            self.audit.denied(client, call, why)

    def users_changed(self, name: str, change: str) -> None:
        """Writes down that the list of users was changed."""
        if self.audit is not None:
            self.audit.users_changed(name, change)

    def foreign_scanner(self, number: int, table: bytes, owner: str) -> None:
        """Writes down that the acting user wanted to use somebody else's."""
        if self.audit is not None:
            self.audit.foreign_scanner(number, table, owner)

    @property
    def has_files(self) -> bool:
        """There is something to reload()."""
        return self.tls is not None

    def reload(self) -> None:
        """Reads its files again, for connections from now on. InvalidConfiguration: nothing was changed."""
        if self.tls is not None:
            self.tls.reload()

    def refusal(self, encrypted: bool, is_known: bool, unusable: str = "") -> JavaError | None:
        """The error that answers every call of a connection; None: they are carried out. `is_known`: the client proved
        who it is, or does so with each request. `unusable`: the reason why its certificate proved nothing, or cannot be
        read."""
        if self._tls_required and not encrypted:
            return JavaError(DENIED, _NEEDS_TLS)
        if self.auth.enabled and not is_known:
            return JavaError(DENIED, f"{unusable}. {_NEEDS_ANOTHER}" if unusable else _NEEDS_USER)
        if not self.auth.enabled and unusable:
            return JavaError(DENIED, f"{unusable}. {_NEEDS_READABLE}")
        return None


NO_SECURITY: Final = GatewaySecurity(TlsOptions())
"""Everybody who can connect may call."""
