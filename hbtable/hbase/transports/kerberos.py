"""Kerberos by SASL's GSSAPI (RFC 4752), as the service whose keytab the server has.

After the tickets the server offers what may protect the messages that follow: nothing (auth), a checksum (auth-int),
encryption (auth-conf). The client chooses one of them. The library is python-gssapi over MIT's Kerberos, an extra; its
calls read the keytab and write down which tickets were used, so they run in a thread.

Over HTTP the tickets come by SPNEGO (http_users.py), for another service of the same keytab.
"""

import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, final

from hbtable.access.options import AuthOptions
from hbtable.errors import InvalidConfiguration, NotAuthenticated
from hbtable.hbase.transports.protected_stream import Layer
from hbtable.hbase.transports.sasl_messages import COMPLETE, OK, SaslMessages, SaslRefused
from hbtable.runtime.interface import Runtime
from hbtable.runtime.private_files import check_private
from hbtable.switches import switches

if TYPE_CHECKING:
    from gssapi import Credentials, SecurityContext, UnwrapResult

_THREAD: Final = "kerberos"
_FRAMES_THREAD: Final = "kerberos-frames"
_TOKEN_BYTES: Final = 64 << 10
_ROUNDS: Final = 10
_CONFIDENTIAL: Final = 4
_UNPROTECTED: Final = 1
_LAYERS: Final = {"auth": _UNPROTECTED, "auth-int": 2, "auth-conf": _CONFIDENTIAL}
"""The bits of the offer and of the choice."""
_MOST_READ: Final = (1 << 24) - 1
"""The longest message that is announced; three bytes say it."""
_LEAST_SENT: Final = 1024
_SEQUENCE_FLAG: Final = 8
"""GSS_C_SEQUENCE_FLAG: the context notices messages that were repeated, left out or put in another order."""
_WEB_SERVICE: Final = "HTTP"
"""Of any host, as the keytab has it: RFC 4559 names it for all servers that speak HTTP."""
_SPNEGO: Final = "1.3.6.1.5.5.2"
_WITHOUT_ORDER: Final = (
    "auth-int and auth-conf are for clients that have Kerberos notice repeated messages: ask for sequence detection "
    "(GSS_C_SEQUENCE_FLAG), as RFC 4752 has it, or choose auth"
)
_CONFUSED: Final = "the last step of GSSAPI is damaged: its choice of a layer, of a size and for whom it acts"


class Proved(NamedTuple):
    """The end of a negotiation that went well."""

    name: str
    acting_for: str
    """The authorization identity; empty for none."""
    layer: Layer | None


@final
class KerberosService:
    """The service as which clients get tickets for this server. InvalidConfiguration when the keytab or the library
    cannot be used."""

    def __init__(self, options: AuthOptions, runtime: Runtime) -> None:
        try:
            import gssapi
            from gssapi.exceptions import GSSError
        except ImportError as error:
            raise InvalidConfiguration(
                "auth.keytab needs python-gssapi: pip install 'hbtable[kerberos]', which needs MIT's Kerberos (Debian: "
                f"libkrb5-dev): {error}"
            ) from error
        keytab = f"auth.keytab = {options.keytab!r}"
        try:
            check_private(options.keytab, os.stat(options.keytab), keytab)
        except OSError as error:
            raise InvalidConfiguration(f"{keytab} cannot be used: {error.strerror}") from error
        self.error: type[Exception] = GSSError
        self.offer = 0
        for name in options.layers():
            self.offer |= _LAYERS[name]
        self.names = options.principals()
        self._runtime = runtime
        self._make = gssapi.SecurityContext
        store, kerberos = {"keytab": options.keytab}, gssapi.MechType.kerberos
        try:
            self._credentials = gssapi.Credentials(usage="accept", store=store, mechs=[kerberos])
        except GSSError as error:
            raise InvalidConfiguration(f"{keytab} cannot be used: {error}") from error
        self._web: Credentials | None = None
        # A ticket for another service than HTTP is none here: somebody in between may have taken it from a login by
        # SASL. There he could do nothing with it where messages are protected; those of HTTP are not.
        web_service = gssapi.Name(_WEB_SERVICE, gssapi.NameType.hostbased_service)
        with suppress(GSSError):  # the keytab has no such key
            mechanisms = [kerberos, gssapi.OID.from_int_seq(_SPNEGO)]
            self._web = gssapi.Credentials(name=web_service, usage="accept", store=store, mechs=mechanisms)

    @property
    def has_web_service(self) -> bool:
        """The keytab has the key of HTTP/HOST, so that tickets come in over HTTP as well."""
        return self._web is not None

    def begin(self) -> "SecurityContext":
        """For one client."""
        return self._make(creds=self._credentials, usage="accept")

    @switches
    def by_spnego(self, token: bytes) -> tuple[str, bytes]:
        """*Switches.* (the user whose ticket this is, the answer that proves the server to him). NotAuthenticated."""
        if self._web is None:
            raise NotAuthenticated(
                "this server takes no tickets of Kerberos over HTTP: auth.keytab has no key of HTTP/HOST"
            )
        context = self._make(creds=self._web, usage="accept")
        answer, is_last = self.take_token(context, token)
        if not is_last:
            raise NotAuthenticated(
                "Kerberos does not let you in: SPNEGO takes more than one step, and no more are taken here"
            )
        try:
            principal = str(context.initiator_name)
        except self.error as error:
            raise NotAuthenticated(f"Kerberos does not let you in: {error}") from error
        return self.names.user(principal), answer

    @switches
    def take_token(self, context: "SecurityContext", token: bytes) -> tuple[bytes, bool]:
        """*Switches.* (the answer, if any; whether this was the last step). NotAuthenticated."""
        try:
            return self._runtime.offload(_THREAD, _step, context, token)
        except self.error as error:
            raise NotAuthenticated(f"Kerberos does not let you in: {error}") from error

    @switches
    def open_apart(self, context: "SecurityContext", frame: bytes) -> "UnwrapResult":
        """*Switches.* What is inside of a large frame. The library's error."""
        return self._runtime.offload(_FRAMES_THREAD, context.unwrap, frame)


def _step(context: "SecurityContext", token: bytes) -> tuple[bytes, bool]:
    answer = context.step(token) or b""
    return answer, context.complete  # which raises the error of a step that has an answer all the same


def kerberos_of(options: AuthOptions, runtime: Runtime) -> KerberosService | None:
    """None: there is none. InvalidConfiguration."""
    return KerberosService(options, runtime) if options.enabled and options.keytab else None


@switches
def by_kerberos(messages: SaslMessages, service: KerberosService) -> Proved:
    """EOFError, SaslRefused, NotAuthenticated."""
    context = service.begin()
    for _ in range(_ROUNDS):
        _, token = messages.receive((OK, COMPLETE), _TOKEN_BYTES)
        answer, is_last = service.take_token(context, token)
        if is_last:
            break
        messages.send(OK, answer)
    else:
        raise SaslRefused("the tickets of Kerberos take too many steps")
    if answer:
        messages.send(OK, answer)
        messages.receive((OK, COMPLETE), _TOKEN_BYTES)
    try:
        messages.send(OK, context.wrap(bytes([service.offer]) + _MOST_READ.to_bytes(3, "big"), False).message)
        _, response = messages.receive((OK, COMPLETE), _TOKEN_BYTES)
        choice = context.unwrap(response).message
        principal = str(context.initiator_name)
    except service.error as error:
        raise NotAuthenticated(f"the last step of GSSAPI failed: {error}") from error
    name = service.names.user(principal)
    acting_for = _acting_for(choice[4:], principal)
    return Proved(name, acting_for, _layer(context, service, choice))


def _acting_for(said: bytes, principal: str) -> str:
    other = said.decode("utf-8", "replace")
    return "" if other == principal else other


def _layer(context: "SecurityContext", service: KerberosService, choice: bytes) -> Layer | None:
    if len(choice) < 4 or choice[0] not in _LAYERS.values():
        raise SaslRefused(_CONFUSED)
    if not choice[0] & service.offer:
        raise SaslRefused("this server does not offer the layer that was chosen (auth.qop)")
    if choice[0] == _UNPROTECTED:
        return None
    most = int.from_bytes(choice[1:4], "big")
    if most < _LEAST_SENT:
        raise SaslRefused(_CONFUSED)
    if not context.actual_flags & _SEQUENCE_FLAG:
        raise SaslRefused(_WITHOUT_ORDER)
    return Layer(context, service.error, choice[0] == _CONFIDENTIAL, most, partial(service.open_apart, context))
