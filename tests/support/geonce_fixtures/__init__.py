"""What the scenario tests share: a provider that bills, the built program, input files.

Standard library only; pytest is needed by the tests themselves.
"""

from .addresses import us_addresses, write_csv
from .fakegeo import BillLine, Fakegeo, point_of
from .program import Geonce, Finished, write_config

__all__ = [
    "BillLine",
    "Fakegeo",
    "Finished",
    "Geonce",
    "point_of",
    "us_addresses",
    "write_config",
    "write_csv",
]
