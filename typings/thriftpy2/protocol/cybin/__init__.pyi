class TCyBinaryProtocol:
    def __init__(
        self,
        trans: object,
        strict_read: bool = ...,
        strict_write: bool = ...,
        decode_response: bool = ...,
        strict_decode: bool = ...,
    ) -> None: ...
