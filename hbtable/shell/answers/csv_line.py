"""A line of CSV or TSV that is read as the fields that it was made of."""

import csv
import io
from collections.abc import Sequence


def csv_line(fields: Sequence[str], delimiter: str = ",") -> str:
    r"""It ends with \n. Python's older writers put into quotes only those ends of lines that they are told to write;
    readers take a \r without quotes for one, too: so it is told both."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\r\n").writerow(fields)
    return text.getvalue()[:-2] + "\n"
