"""Tables that grow by whole instances and survive a kill at any byte.

Every row carries its instance, its number and the number of rows of its instance. A CSV file grows by one write per
instance; when it is opened again, a tail that is not a whole instance is cut off. A Parquet table is a folder of files
that each appear whole or not at all.
"""

from __future__ import annotations

from pathlib import Path

from pinnpoint.base.errors import InputError
from pinnpoint.base.files import PathLike
from pinnpoint.campaigns.csv_tables import CsvTable
from pinnpoint.campaigns.growing import AbstractTable
from pinnpoint.campaigns.parquet_tables import ParquetTable

BATCH = 256
"""Instances of one Parquet file, at most."""
FLUSH = 10.0
"""Seconds after which a Parquet file is written with fewer."""


def open_table(path: PathLike) -> AbstractTable:
    """A new table, or one to go on with: ``.csv`` is a file, ``.parquet`` a folder (extra ``parquet``)."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise InputError(f"out: '{target}' must end in .csv or .parquet")
    if suffix == ".csv" and target.exists() and not target.is_file():
        raise InputError(f"out: '{target}' is no regular file, which could be gone on with; choose another name")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return CsvTable(target) if suffix == ".csv" else ParquetTable(target, BATCH, FLUSH)
    except OSError as error:
        raise InputError(f"out: '{target}' could not be opened ({error.strerror}); choose another place") from error
