from typing import Any

class BlockMetadata:
    def __init__(self, *, num_rows: int | None, size_bytes: int | None, input_files: Any, exec_stats: Any) -> None: ...

class BlockAccessor:
    @staticmethod
    def for_block(block: Any) -> Any: ...
