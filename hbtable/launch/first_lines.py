"""The lines by which a newcomer connects, as the start prints them: they have to work as the server is configured."""

from hbtable.access.options import AuthOptions
from hbtable.runtime.network.tls import TlsOptions

_HAPPYBASE = """\
    import happybase                                  # pip install happybase
    connection = happybase.Connection("{host}", {port})"""
_OWN = """\
    import hbtable                                    # docs/security.md has the lines for other clients
    connection = hbtable.connect("{host}", {port}{further})"""


def connecting(host: str, port: int, tls: TlsOptions, auth: AuthOptions) -> str:
    """Happybase has no options for TLS and users."""
    needs_tls = bool(tls.certificate) and (tls.required or (auth.enabled and not auth.plain_text))
    if not needs_tls and not auth.enabled:
        return _HAPPYBASE.format(host=host, port=port)
    further = ""
    if needs_tls:
        further += ', tls=True, ca="FILE OF THE CA"'
    if tls.client_ca:
        further += ', certificate="FILE WITH YOUR CERTIFICATE AND KEY"'
    elif auth.enabled:
        further += f', user="{_first(auth)}", secret="FILE OF THE PASSWORD"'
    return _OWN.format(host=host, port=port, further=further)


def _first(auth: AuthOptions) -> str:
    """A user who may do what the other lines do."""
    named = sorted(auth.superuser_names())
    users = [name for name in named if not name.startswith("@")]
    users += [user for name in named if name.startswith("@") for user in sorted(auth.members().get(name[1:], ()))]
    return users[0] if users else "USER"
