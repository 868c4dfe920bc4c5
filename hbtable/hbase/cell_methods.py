"""The methods of HBase's Thrift services that read or write cells, by what their arguments name."""

from typing import Final


def _named(methods: str) -> frozenset[str]:
    return frozenset(methods.split())


# Thrift1. The table comes first, then the row, the rows, or the batches of mutations; but structs hold both.
READS_OF_A_ROW: Final = _named("get getVer getVerTs getRow getRowTs getRowWithColumns getRowWithColumnsTs")
WRITES_OF_A_ROW: Final = _named(
    "mutateRow mutateRowTs deleteAll deleteAllTs deleteAllRow deleteAllRowTs atomicIncrement checkAndPut"
)
READS_OF_ROWS: Final = _named("getRows getRowsTs getRowsWithColumns getRowsWithColumnsTs")
BATCHES: Final = _named("mutateRows mutateRowsTs")
SCANS_OPENED: Final = _named(
    "scannerOpen scannerOpenTs scannerOpenWithStop scannerOpenWithStopTs scannerOpenWithPrefix scannerOpenWithScan"
)
OPEN_SCANS: Final = _named("scannerGet scannerGetList scannerClose")
WRITES_BY_STRUCT: Final = _named("increment append")
PASSED_ON_READS: Final = READS_OF_A_ROW
PASSED_ON_WRITES: Final = _named("mutateRow mutateRowTs")
"""The calls that tablet servers carry out for each other as they came (hbase/relays/role_relay.py)."""

THRIFT1: Final = frozenset(["incrementRows"]).union(
    READS_OF_A_ROW, WRITES_OF_A_ROW, READS_OF_ROWS, BATCHES, SCANS_OPENED, OPEN_SCANS, WRITES_BY_STRUCT
)
THRIFT2: Final = _named(
    "exists existsAll get getMultiple put putMultiple deleteSingle deleteMultiple mutateRow checkAndPut checkAndDelete "
    "checkAndMutate increment append openScanner getScannerRows getScannerResults closeScanner"
)
