from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ray.data.block import BlockMetadata

T = TypeVar("T")

class Dataset: ...
class Datasource: ...
class Datasink(Generic[T]): ...

class ReadTask:
    def __init__(
        self, read_fn: Callable[[], Any], metadata: BlockMetadata, schema: Any, per_task_row_limit: int | None
    ) -> None: ...
