"""Answers to calls that came to nothing: refused while they were read, failed, or unknown. Each is counted under the
name of its error."""

import logging
from typing import Final, final

from hbtable.errors import HbtableError, Overloaded
from hbtable.hbase import errors
from hbtable.hbase.audit import DENIED, UNHEARD
from hbtable.hbase.codec.answers import Dialect
from hbtable.hbase.codec.interface import ThriftMethod
from hbtable.hbase.codec.missing import MissingField
from hbtable.hbase.connection_context import ConnectionContext
from hbtable.hbase.wrong_protocols import unknown_method
from hbtable.thrift.wire import INTERNAL_ERROR, PROTOCOL_ERROR, UNKNOWN_METHOD, Call, Malformed, MessageTooLarge

_LOG: Final = logging.getLogger(__name__)


@final
class FailedCalls:
    """Makes the answers for one client. `client` is its address, for people."""

    __slots__ = ("_client", "_context")

    def __init__(self, client: str, context: ConnectionContext) -> None:
        self._client = client
        self._context = context

    def unread(self, head: Call, dialect: Dialect, error: Malformed | MessageTooLarge | Overloaded) -> bytes:
        """Too large a call gets its method's declared exception: happybase can show no other one's text (thriftpy2
        reads it as bytes, and str() of it fails), and its users met that with each batch that was too long."""
        name, _, sequence = head
        method = self._context.methods.get(name)
        if isinstance(error, Overloaded) and method is not None:
            return self.failed(error, method, sequence, dialect, began=False)[0]
        if isinstance(error, MessageTooLarge) and method is not None and "io" in method.declares:
            return dialect.declared(method, sequence, errors.too_large(str(error)))
        return dialect.refusal(name, sequence, PROTOCOL_ERROR, str(error))

    def failed(
        self, error: Exception, method: ThriftMethod, sequence: int, dialect: Dialect, *, began: bool
    ) -> tuple[bytes, str]:
        """(answer, the outcome's name for the metrics). `began`: it was carried out, or was about to be."""
        if isinstance(error, MissingField):
            answer = dialect.refusal(method.name.encode(), sequence, PROTOCOL_ERROR, str(error))
            self._context.count(method.name, "MissingField")
            return answer, "MissingField"
        if isinstance(error, HbtableError):
            declared = errors.declared(error, method.declares)
            # Not begun: one line says it of the whole connection. Other methods leave their line themselves.
            if began and declared.message.startswith(DENIED) and method.name in UNHEARD:
                self._context.security.denied(self._client, method.name, str(error))
        else:
            _LOG.exception("%s of %s failed in an unforeseen way", method.name, self._client, exc_info=error)
            declared = errors.internal(error)
        outcome = type(error).__name__
        self._context.count(method.name, outcome)
        if declared.field in method.declares:
            return dialect.declared(method, sequence, declared), outcome
        return dialect.refusal(method.name.encode(), sequence, INTERNAL_ERROR, declared.message), outcome

    def unusable(self, head: Call, dialect: Dialect, method: ThriftMethod | None) -> bytes:
        """To an unknown method, or a one-way call: HBase has none of these."""
        name, _, sequence = head
        if method is not None:
            message = f"{method.name} was sent as a one-way call; it has an answer"
        else:
            message = unknown_method(name)
        self._context.count("unknown", "UnknownMethod")
        return dialect.refusal(name, sequence, UNKNOWN_METHOD, message)
