"""What the scenario tests share: a provider that bills, the built program, input files.

Standard library only; pytest is needed by the tests themselves.
"""

from .addresses import us_addresses, write_csv
from .fakegeo import BillLine, Fakegeo, point_of
from .gate import Gate
from .gateway import Gateway
from .judge import Breach, judge, sums
from .libpostal import Libpostal
from .money import (
    Sums,
    check_points,
    check_rows_are_the_input,
    check_the_ledger_against_the_bill,
    ledger_sums,
    read_rows,
    statuses,
)
from .postgres import PgBouncer, Postgres
from .program import Finished, Geonce, write_config
from .records import Records, read_batch, read_records
from .redis import Cluster, Redis, Sentinel

__all__ = [
    "BillLine",
    "Breach",
    "Cluster",
    "Fakegeo",
    "Finished",
    "Gate",
    "Gateway",
    "Geonce",
    "Libpostal",
    "PgBouncer",
    "Postgres",
    "Records",
    "Redis",
    "Sentinel",
    "Sums",
    "check_points",
    "check_rows_are_the_input",
    "check_the_ledger_against_the_bill",
    "judge",
    "ledger_sums",
    "point_of",
    "read_batch",
    "read_records",
    "read_rows",
    "statuses",
    "sums",
    "us_addresses",
    "write_config",
    "write_csv",
]
