"""TLS from the shell's side, with errors that say what to do."""

import socket
import ssl
from traceback import walk_tb
from typing import Final

from hbtable.shell.address import ServerAddress
from hbtable.shell.errors import CannotConnect, NotLetIn

_REFUSALS: Final = {
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": (
        "it lets in nobody without a certificate: give one and its key with --certificate FILE, or with certificate= "
        "in a program"
    ),
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the client's certificate, or one between it and its CA, has expired",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": "the client's certificate is one for servers alone (extendedKeyUsage)",
    "TLSV1_ALERT_UNKNOWN_CA": (
        "the client's certificate is of no CA that it takes clients of (tls.client_ca). Where that one signed another "
        "CA, the client's file needs the other one's certificate as well"
    ),
    "SSLV3_ALERT_BAD_CERTIFICATE": "it does not take the client's certificate",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "it does not take the client's certificate any more",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "it does not take the client's certificate",
}
"""By the alert of a server, which comes in the place of its first answer (TLS 1.3)."""


def encrypted(made: socket.socket, address: ServerAddress) -> ssl.SSLSocket:
    """`made` after the handshake; closed when that fails, with CannotConnect."""
    try:
        return _context(address).wrap_socket(made, server_hostname=address.host)
    except (OSError, ValueError) as error:
        made.close()
        _close_taken_over(error)
        raise refused(error, address) or CannotConnect(
            f"no TLS with {address.host}:{address.port}: {_said(error)}"
        ) from None
    except CannotConnect:
        made.close()
        raise


def refused(error: Exception, address: ServerAddress) -> NotLetIn | None:
    """The error that tells it where the server has refused the client's certificate: nothing was done. Else None."""
    why = _REFUSALS.get(error.reason or "") if isinstance(error, ssl.SSLError) else None
    return None if why is None else NotLetIn(f"no TLS with {address.host}:{address.port}: {why}")


def _close_taken_over(error: Exception) -> None:
    """wrap_socket() takes the socket over before it looks whether its server is still there. Where that has broken the
    connection, it raises and leaves its own socket open (so CPython 3.11), which only its frames have."""
    for frame, _ in walk_tb(error.__traceback__):
        taken_over = frame.f_locals.get("self")
        if isinstance(taken_over, ssl.SSLSocket):
            taken_over.close()


def _context(address: ServerAddress) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=address.ca or None)
    except OSError as error:
        raise CannotConnect(f"the CA's file {address.ca} cannot be used: {error.strerror or error}") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if address.certificate:
        try:
            context.load_cert_chain(address.certificate)
        except OSError as error:
            said = error.strerror or error
            raise CannotConnect(f"the certificate's file {address.certificate} cannot be used: {said}") from None
    return context


def _said(error: OSError | ValueError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"its certificate is not trusted ({error.verify_message}); give its CA's certificate with --ca FILE, "
            "or with ca= in a program"
        )
    if isinstance(error, ssl.SSLError) and error.reason == "SSLV3_ALERT_HANDSHAKE_FAILURE":
        return "it takes none; leave --tls (tls=True) out, or set tls.certificate for the server"
    return str(error)
