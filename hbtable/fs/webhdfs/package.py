"""Carries requests over the `hdfs` package's sessions, for NameNodes that ask for Kerberos over HTTP.

Only the package's signing in is used (SPNEGO, throttled, and delegation tokens). Its calls are not: with several
NameNodes they repeat any request whose answer is lost, also a rename; without a timeout they wait for ever; and paths
with #LATEST mean something else (docs/faults.md: the package hdfs).
"""

import ssl
from typing import Final, final

import requests
from urllib3.exceptions import NewConnectionError

from hbtable.errors import InvalidConfiguration
from hbtable.fs.webhdfs.encryption import untrusted
from hbtable.fs.webhdfs.requests import NoAnswer, NotSent, WebHdfsRequest, WebHdfsResponse

_CONNECT_SECONDS: Final = 2.0
_CONNECTIONS: Final = 16
_SIGNINGS_AT_ONCE: Final = 8
_PIECE_BYTES: Final = 1 << 18


@final
class PackageSession:
    """Callable as webhdfs_requests.Http, from several threads. Owns one session of `requests`. `encrypted`: over TLS,
    with servers that the session trusts."""

    def __init__(self, session: requests.Session, encrypted: bool = False) -> None:
        self._session = session
        self._scheme = "https" if encrypted else "http"
        adapter = requests.adapters.HTTPAdapter(pool_connections=_CONNECTIONS, pool_maxsize=_CONNECTIONS)
        session.mount(f"{self._scheme}://", adapter)
        session.trust_env = False  # as the other adapters: no proxy, which would read tickets, and no .netrc

    def __call__(self, request: WebHdfsRequest) -> WebHdfsResponse:
        body = request.body
        if not isinstance(body, bytes):
            body.seek(0)
        try:
            answer = self._session.request(
                request.method,
                f"{self._scheme}://{request.host}{request.target}",
                data=body or None,
                headers={"Content-Type": "application/octet-stream"},
                timeout=(_CONNECT_SECONDS, request.seconds),
                allow_redirects=False,
                stream=True,
            )
        except requests.exceptions.ConnectTimeout as error:
            # Its text, and a traceback with it, would show the target: a DataNode's has a delegation token.
            raise NotSent(f"{request.host} cannot be reached: {type(error).__name__}") from None
        except requests.exceptions.RequestException as error:
            if said := _untrusted(error):
                raise NotSent(f"{request.host} cannot be reached: {said}") from None
            if _was_refused(error):
                raise NotSent(f"{request.host} cannot be reached: {type(error).__name__}") from None
            raise NoAnswer(f"{request.host}: {type(error).__name__}") from None
        pieces: list[bytes] = []
        complete = True
        try:
            pieces.extend(answer.iter_content(_PIECE_BYTES))
        except requests.exceptions.RequestException:
            complete = False  # cut off or silent: the package tells these apart no better
        finally:
            answer.close()
        return WebHdfsResponse(answer.status_code, answer.headers.get("Location", ""), b"".join(pieces), complete)

    def close(self) -> None:
        self._session.close()


def kerberos_session(option: str, encrypted: bool = False, ca: str = "") -> PackageSession:
    """Signs in with the tickets of the user whom `kinit`, or the keytab that $KRB5_CLIENT_KTNAME names, made of this
    process. InvalidConfiguration when there is no such user, or a package is missing. `option`: what asked for it, for
    people. `ca`: as webhdfs.ca, where it is `encrypted`."""
    try:
        import gssapi
        from gssapi.exceptions import GSSError
        from hdfs.ext.kerberos import KerberosClient
    except ImportError as error:
        raise InvalidConfiguration(
            f"{option} needs python-gssapi and requests-kerberos: pip install 'hbtable[kerberos]', which needs MIT's "
            f"Kerberos (Debian: libkrb5-dev): {error}"
        ) from error
    try:
        str(gssapi.Credentials(usage="initiate").name)
    except GSSError as error:
        raise InvalidConfiguration(
            f"{option} needs a ticket of Kerberos: run kinit, or name this role's keytab in the variable "
            f"KRB5_CLIENT_KTNAME: {error}"
        ) from error
    session = requests.Session()
    KerberosClient("http://unused", max_concurrency=_SIGNINGS_AT_ONCE, session=session)
    if encrypted:
        paths = ssl.get_default_verify_paths()
        session.verify = ca or paths.cafile or paths.capath or True  # else `requests` takes CAs of its own
    return PackageSession(session, encrypted)


def _untrusted(error: requests.exceptions.RequestException) -> str:
    cause = error.args[0] if error.args else None
    reason = getattr(getattr(cause, "reason", None), "args", None) or (None,)
    return untrusted(reason[0]) if isinstance(reason[0], OSError) else ""


def _was_refused(error: requests.exceptions.RequestException) -> bool:
    """No connection came about, so that nothing was sent."""
    cause = error.args[0] if error.args else None
    return isinstance(getattr(cause, "reason", None), NewConnectionError)
