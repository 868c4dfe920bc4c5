"""Names of tables and namespaces, refused in HBase's words before anything is asked of a server, which has the last
word."""

import re
from typing import Final

from hbtable.shell.context import text_of
from hbtable.shell.errors import ServerError
from hbtable.shell.language.literals import Value

_ILLEGAL: Final = "java.lang.IllegalArgumentException"
_FOREIGN: Final = re.compile(r"\W", re.ASCII)


def table_of(value: Value) -> bytes:
    """The name of a table, `namespace:name` or `name`. BadArgument for what is no string, ServerError for what no table
    can be called."""
    name = text_of(value, "a table name")
    namespace, colon, qualifier = name.partition(b":")
    if colon:
        _check_namespace(namespace)
    _check_qualifier(qualifier if colon else name)
    return name


def namespace_of(value: Value) -> bytes:
    """The name of a namespace; the same errors."""
    name = text_of(value, "a namespace")
    _check_namespace(name)
    return name


def _check_namespace(name: bytes) -> None:
    text = name.decode("utf-8", "replace")
    if not text:
        raise ServerError(_ILLEGAL, "Namespace name must not be empty")
    if found := _FOREIGN.search(text):
        place = found.start()
        raise ServerError(
            _ILLEGAL,
            f"Illegal character <{text[place]}> at {place}. Namespaces may only contain 'alphanumeric characters' "
            f"from any language and digits: {text}",
        )


def _check_qualifier(name: bytes) -> None:
    text = name.decode("utf-8", "replace")
    if not text:
        raise ServerError(_ILLEGAL, "Table qualifier must not be empty")
    if text[0] in ".-":
        raise ServerError(
            _ILLEGAL,
            f"Illegal first character <{ord(text[0])}> at 0. User-space table qualifiers can only start with "
            f"'alphanumeric characters' from any language: {text}",
        )
    for place, char in enumerate(text):
        if not (char.isalnum() or char in "_-."):
            raise ServerError(
                _ILLEGAL,
                f"Illegal character code:{ord(char)}, <{char}> at {place}. User-space table qualifiers may only "
                f"contain 'alphanumeric characters' and digits: {text}",
            )
