"""The certificates in tests/certificates, valid for a hundred years: a CA, two for servers on this machine, a client's.

ca.pem                        the CA; its key was thrown away
server.pem, server.key        for localhost and 127.0.0.1
renewed.pem, renewed.key      for the same, another subject: CN=renewed
client.pem, client.key        O=Example, CN=ann
locked.key                    server.key with a passphrase
"""

import shutil
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "certificates"
CA = str(FOLDER / "ca.pem")


def put_certificate(name: str, folder: Path) -> tuple[str, str]:
    """Copies it to `folder` as certificate.pem and key.pem, which nobody else may read: git keeps no such modes."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    for source, target in ((f"{name}.pem", certificate), (f"{name}.key", key)):
        shutil.copyfile(FOLDER / source, target)
        target.chmod(0o600)
    return str(certificate), str(key)


def put_ca(folder: Path) -> str:
    """Copies the CA to `folder`, for a server that asks clients for certificates: a checkout may lie in a folder that
    everybody may change, and what lies there says who comes in."""
    path = folder / "ca.pem"
    shutil.copyfile(CA, path)
    path.chmod(0o600)
    return str(path)
