from collections.abc import Iterable
from typing import Any

from pyarrow import RecordBatchReader, Schema

class Dataset:
    @property
    def schema(self) -> Schema: ...

class Scanner:
    @staticmethod
    def from_batches(
        source: RecordBatchReader, *, columns: Iterable[str] | None = None, filter: Any = None
    ) -> Scanner: ...
