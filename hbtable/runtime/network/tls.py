"""TLS over a connection that is served: the standard library's OpenSSL between two buffers in memory.

The socket stays whoever's it was. So TLS may begin after some bytes were read (one port takes plain clients, too), any
kind of stream will do, and nothing here needs gevent.

reload() reads certificate, key and the CA of clients again; connections keep what they began with.
"""

import math
import os
import ssl
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NoReturn, Protocol, final

from hbtable.errors import InvalidConfiguration
from hbtable.runtime.private_files import check_place, check_unchangeable
from hbtable.switches import switches

_READ_BYTES: Final = 64 << 10
_PIECES_AT_ONCE: Final = 64
"""A record may come in 16,000 pieces, and each next one may be there already."""
_RECORD_BYTES: Final = 16 << 10
"""One record of TLS takes as much; of more, a write may take a part."""
_WRITTEN_AT_ONCE: Final = 256 << 10
"""Bytes that are encrypted before they are handed on: a large answer is not held twice."""


class Carrier(Protocol):
    """A connected socket, or what does as one. recv and sendall *switch*."""

    @switches
    def recv(self, most: int, /) -> bytes: ...
    @switches
    def sendall(self, data: bytes, /) -> None: ...
    def settimeout(self, seconds: float | None, /) -> None: ...
    @switches
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """TLS on the Thrift port: the section [tls] of the configuration."""

    certificate: str = ""
    """PEM file of the server's certificate and those between it and its CA. Empty: no TLS. With it, SIGHUP reads these
    files again and does not stop the server."""
    key: str = ""
    """PEM file of its private key, without a passphrase, which other users of this machine may not read. Empty: it
    stands in the certificate's file."""
    client_ca: str = ""
    """PEM file of CAs: only clients with a certificate of one of them come in. It needs `required`, or everybody else
    would come in without TLS."""
    required: bool = False
    """Calls without TLS are refused, in a sentence. Otherwise the port takes both kinds of clients."""

    def __post_init__(self) -> None:
        if not self.certificate and (self.key or self.client_ca or self.required):
            raise InvalidConfiguration("tls.key, tls.client_ca and tls.required need tls.certificate")
        if self.client_ca and not self.required:
            raise InvalidConfiguration(
                "tls.client_ca needs tls.required = true: clients without a certificate would come in without TLS"
            )


class HandshakeFailed(Exception):
    """The client and this server did not come to terms; the text goes on after "its TLS handshake failed: "."""


@final
class ServerTls:
    """The server's side of TLS: its certificate, and its demands on clients. InvalidConfiguration when its files cannot
    be used."""

    def __init__(self, options: TlsOptions) -> None:
        self._options = options
        self._context = _context(options)

    def reload(self) -> None:
        """Reads the files again, for connections from now on. InvalidConfiguration: nothing was changed."""
        _refuse_pipes(self._options)
        context = _context(self._options)
        if reason := _out_of_force(context, self._options.certificate):
            raise InvalidConfiguration(reason)
        self._context = context

    def out_of_force(self) -> str:
        """The reason why clients that look at the certificate refuse it today: it has expired, or is not valid yet.
        Empty: they do not for that."""
        return _out_of_force(self._context, self._options.certificate)

    def over(self, carrier: Carrier, first: bytes, pause: Callable[[], None]) -> "TlsStream":
        """`first`: what was read from it already. `pause` lets other tasks run. handshake() comes next."""
        return TlsStream(carrier, self._context, first, pause)


@final
class TlsStream:
    """The inside of a connection: recv and sendall are of plain bytes. One task at a time reads or writes."""

    def __init__(self, carrier: Carrier, context: ssl.SSLContext, first: bytes, pause: Callable[[], None]) -> None:
        self._carrier = carrier
        self._pause = pause
        self._in = ssl.MemoryBIO()
        self._out = ssl.MemoryBIO()
        self._in.write(first)
        self._tls = context.wrap_bio(self._in, self._out, server_side=True)
        self._certificate: dict[str, Any] = {}
        """The client's, as the standard library has it. Empty without one, and where it cannot be read."""
        self.unreadable = ""
        """The reason why nobody can say whose the client's certificate is, which was checked."""
        self._is_open = False
        self._is_empty = False
        """Nothing more can be read before more has arrived."""
        self.settimeout = carrier.settimeout

    @switches
    def handshake(self, goes_on: Callable[[], bool]) -> None:
        """HandshakeFailed, after the client was sent the alert that tells it; OSError when it left. `goes_on` is asked
        before each wait for it."""
        vain = 0
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._flush()
                vain += 1
                if not vain % _PIECES_AT_ONCE:
                    self._pause()
            except ssl.SSLError as error:
                self._flush()
                raise HandshakeFailed(_reason(error)) from error
            if not goes_on():
                raise HandshakeFailed("it took too long")
            piece = self._carrier.recv(_READ_BYTES)
            if not piece:
                raise HandshakeFailed("the client left in the middle of it")
            self._in.write(piece)
        self._read_certificate()
        self._is_open = True
        self._is_empty = not self._in.pending
        self._flush()

    def _read_certificate(self) -> None:
        """OpenSSL checks signatures and times, and the standard library reads all names in it, each as text."""
        try:
            self._certificate = self._tls.getpeercert() or {}
        except (ValueError, ssl.SSLError) as error:
            self.unreadable = "a name in the client's certificate is no text"
            if self._tls.session_reused:
                raise HandshakeFailed(f"{self.unreadable}, so nobody knows when it ends") from error

    @property
    def shows_certificate(self) -> bool:
        """Whether the client has shown one, which was checked."""
        return bool(self._certificate or self.unreadable)

    def common_names(self) -> list[str]:
        """The names (CN) in the subject of the client's certificate, which was checked. Without one there are none."""
        # A tuple of relative distinguished names, each a tuple of pairs.
        subject: tuple[tuple[tuple[str, str], ...], ...] = self._certificate.get("subject", ())
        return [value for part in subject for key, value in part if key == "commonName"]

    def certificate_ends_millis(self) -> float:
        """The end of the client's certificate, in wall-clock milliseconds; infinite where none can be read.

        OpenSSL looks at that in a full handshake alone. One that resumes an earlier session takes the certificate from
        there, and each such session gives tickets for the next.
        """
        ends = self._certificate.get("notAfter")
        return math.inf if ends is None else ssl.cert_time_to_seconds(ends) * 1000

    @switches
    def recv(self, most: int, /) -> bytes:
        incoming, vain = self._in, 0
        while True:
            # Asked when there is nothing, OpenSSL answers with an exception, which costs as much as the rest.
            if self._is_empty:
                piece = self._carrier.recv(_READ_BYTES)
                if not piece:
                    return b""
                incoming.write(piece)
            # What is encrypted is larger than what is in it: room for more would be memory taken and given back.
            arrived = incoming.pending
            asked = arrived if 0 < arrived < most else most
            try:
                data = self._tls.read(asked)
            except ssl.SSLWantReadError:
                self._is_empty = True
                if self._out.pending:  # an answer of TLS itself, as to a change of keys
                    self._flush()
                vain += 1
                if not vain % _PIECES_AT_ONCE:
                    self._pause()
                continue
            if len(data) == asked or incoming.pending:
                return self._read_on(data, most)
            self._is_empty = True
            return data

    def _read_on(self, data: bytes, most: int) -> bytes:
        """More records that have arrived: one holds 16 KB at most."""
        pieces, size = [data], len(data)
        self._is_empty = False
        try:
            while size < most and (data := self._tls.read(most - size)):
                pieces.append(data)
                size += len(data)
        except ssl.SSLWantReadError:
            self._is_empty = True
        return b"".join(pieces)

    @switches
    def sendall(self, data: bytes, /) -> None:
        if 0 < len(data) <= _RECORD_BYTES:
            written = self._tls.write(data)
            self._carrier.sendall(self._out.read())
            if written == len(data):  # with the modes that Python sets it always is
                return
            data = data[written:]
        view = memoryview(data)
        while view:
            view = view[self._tls.write(view[:_WRITTEN_AT_ONCE]) :]
            self._flush()

    @switches
    def close(self) -> None:
        """Says that this is the end, unless the client has to be waited for. Does not switch."""
        if self._is_open:
            self._is_open = False
            with suppress(OSError, ValueError):
                self._tls.unwrap()  # which only writes; it would wait for the client's own end, and says so
            with suppress(OSError):
                self._carrier.settimeout(0.0)
                self._carrier.sendall(self._out.read())
        self._carrier.close()

    @switches
    def _flush(self) -> None:
        data = self._out.read()
        if data:
            self._carrier.sendall(data)


def _context(options: TlsOptions) -> ssl.SSLContext:
    key = options.key or options.certificate
    _check_private(key, "tls.key" if options.key else "tls.certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    try:
        context.load_cert_chain(options.certificate, key, password=_no_passphrase)
    except (OSError, ValueError) as error:
        raise InvalidConfiguration(
            f"tls.certificate = {options.certificate!r} with the key of {key!r} cannot be used: {_said(error)}"
        ) from error
    if options.client_ca:
        try:
            check_unchangeable(options.client_ca, os.stat(options.client_ca), f"tls.client_ca = {options.client_ca!r}")
            context.load_verify_locations(options.client_ca)
        except OSError as error:
            raise InvalidConfiguration(
                f"tls.client_ca = {options.client_ca!r} cannot be used: {_said(error)}"
            ) from error
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # a CA of the file is enough, whoever has signed it
    return context


def _out_of_force(server: ssl.SSLContext, certificate: str) -> str:
    """The standard library tells no times of a certificate of one's own, so it is shown to a client that trusts it."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        client.load_verify_locations(certificate)
    except OSError:
        return ""  # changed since it was read
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = server.wrap_bio(to_server, to_client, server_side=True), client.wrap_bio(to_client, to_server)
    for _ in range(_FLIGHTS):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError as error:
                if error.verify_code not in _TIMES:
                    return ""
                said = _TIMES[error.verify_code]
                return f"tls.certificate = {certificate!r} {said}, so clients that check it stay out: renew it"
            except ssl.SSLError:
                return ""
    return ""


def _refuse_pipes(options: TlsOptions) -> None:
    """A start may wait for whoever writes to one; a server that runs would keep all its clients waiting. What is not
    there is found out later."""
    for name, path in (("certificate", options.certificate), ("key", options.key), ("client_ca", options.client_ca)):
        with suppress(OSError):
            if path and stat.S_ISFIFO(os.stat(path).st_mode):
                raise InvalidConfiguration(
                    f"tls.{name} = {path!r} is a pipe, which is read at a start alone: put a file there"
                )


def _check_private(path: str, name: str) -> None:
    """Nobody else on this machine may read the key; its group may when the file is root's, as systems hand out keys."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise InvalidConfiguration(f"{name} = {path!r} cannot be read: {error.strerror}") from error
    forbidden = stat.S_IRWXO | (stat.S_IWGRP if status.st_uid == 0 else stat.S_IRWXG)
    if status.st_mode & forbidden:
        raise InvalidConfiguration(
            f"{name} = {path!r} holds a private key and others may read or change it (mode "
            f"{stat.S_IMODE(status.st_mode):04o}): chmod 600 it"
        )
    try:
        check_place(path, status, f"{name} = {path!r}, a private key")
    except OSError as error:
        raise InvalidConfiguration(f"{name} = {path!r} cannot be read: {error.strerror}") from error


def _no_passphrase() -> NoReturn:
    """Otherwise OpenSSL would ask at the terminal, and a service would hang."""
    raise ValueError("the key has a passphrase, and nobody is there to type it: store it without one")


_REASONS: Final = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the client has no certificate, and tls.client_ca demands one",
    "UNSUPPORTED_PROTOCOL": "the client speaks no TLS from 1.2 on",
    "TLSV1_ALERT_UNKNOWN_CA": "the client does not know the CA of tls.certificate: give it that CA's certificate",
    "SSLV3_ALERT_BAD_CERTIFICATE": "the client does not accept the server's certificate: is it for this host name?",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the server's certificate has expired",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the client does not accept the server's certificate",
    "NO_SHARED_CIPHER": "the client and this server have no cipher in common",
}


_FLIGHTS: Final = 3
"""Of messages to and fro, in a handshake."""
_TIMES: Final = {9: "is not valid yet", 10: "has expired"}
_NOT_OF_THE_CA: Final = "the client's certificate is not of tls.client_ca"
_REFUSED: Final = {
    9: "the client's certificate, or one between it and its CA, is not valid yet",
    10: "the client's certificate, or one between it and its CA, has expired",
    20: f"{_NOT_OF_THE_CA}, or the client does not send those between the two",
    26: "the client's certificate is one for servers alone (extendedKeyUsage)",
}
"""By OpenSSL's X509_V_ERR of the chain."""


def _reason(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{_REFUSED.get(error.verify_code, _NOT_OF_THE_CA)} ({error.verify_message})"
    reason = error.reason or ""
    said = _said(error)
    return f"{_REASONS[reason]} ({said})" if reason in _REASONS else said


def _said(error: OSError | ValueError) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).lower().replace("_", " ")
    return getattr(error, "strerror", None) or str(error)
