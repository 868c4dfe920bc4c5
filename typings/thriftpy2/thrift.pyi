class TType:
    STRUCT: int

class TMessageType:
    CALL: int
    REPLY: int
    EXCEPTION: int

class TException(Exception): ...

class TApplicationException(TException):
    type: int
    message: str | None
    def __init__(self, type: int = ..., message: str | None = ...) -> None: ...
    def write(self, oprot: object) -> None: ...
    def read(self, iprot: object) -> None: ...

class TClient:
    def __init__(self, service: object, iprot: object, oprot: object | None = ...) -> None: ...

class TDecodeException(TException): ...
