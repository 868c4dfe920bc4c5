class KazooRetry:
    def __init__(
        self,
        max_tries: int = ...,
        delay: float = ...,
        backoff: int = ...,
        max_jitter: float = ...,
        max_delay: float = ...,
        ignore_expire: bool = ...,
    ) -> None: ...
