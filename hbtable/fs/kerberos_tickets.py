"""Tickets of Kerberos for the HTTP services of HDFS, by SPNEGO (RFC 4559): those of the user whom `kinit`, or the
keytab that $KRB5_CLIENT_KTNAME names, made of this process.

The library is python-gssapi over MIT's Kerberos, an extra. Its calls ask the KDC now and then, so they are for threads.
"""

import base64
from typing import Final, final

from hbtable.errors import InvalidConfiguration

_SPNEGO: Final = "1.3.6.1.5.5.2"


class NoTicket(Exception):
    """There is none for that service now; the text says why."""


@final
class WebTickets:
    """InvalidConfiguration when the library is not there, or this process is nobody to Kerberos."""

    def __init__(self, option: str) -> None:
        """`option`: what asked for it, for people."""
        try:
            import gssapi
            from gssapi.exceptions import GSSError
        except ImportError as error:
            raise InvalidConfiguration(
                f"{option} needs python-gssapi: pip install 'hbtable[kerberos]', which needs MIT's Kerberos (Debian: "
                f"libkrb5-dev): {error}"
            ) from error
        self._gssapi = gssapi
        self._error: type[Exception] = GSSError
        try:
            self.user = str(gssapi.Credentials(usage="initiate").name)
        except GSSError as error:
            raise InvalidConfiguration(
                f"{option} needs a ticket of Kerberos: run kinit, or name this role's keytab in the variable "
                f"KRB5_CLIENT_KTNAME: {error}"
            ) from error

    def header(self, host: str) -> str:
        """The value of an Authorization for one request to `host` (no port). NoTicket. Blocks."""
        gssapi = self._gssapi
        try:
            name = gssapi.Name(f"HTTP@{host}", gssapi.NameType.hostbased_service)
            context = gssapi.SecurityContext(name=name, mech=gssapi.OID.from_int_seq(_SPNEGO), usage="initiate")
            token = context.step() or b""
        except self._error as error:
            raise NoTicket(f"there is no ticket of Kerberos for HTTP/{host} now: {error}") from error
        return "Negotiate " + base64.b64encode(token).decode()
