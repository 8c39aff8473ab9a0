"""Input files: distinct, plausible US addresses without any of fakegeo's marker words."""

import csv
import random

_STREETS = (
    "Maple Oak Cedar Pine Walnut Chestnut Spruce Birch Willow Juniper Magnolia Sycamore Laurel Aspen "
    "Lincoln Jefferson Adams Monroe Jackson Madison Harrison Franklin Hamilton Grant Sherman Douglas "
    "Prospect Highland Ridge Meadow Orchard Garden Harbor Canal Mill Bridge Church Market Commerce"
).split()
_TYPES = "St Ave Rd Dr Ln Ct Blvd Pl Ter Way".split()
_DIRECTIONS = ["", "", "", "N ", "S ", "E ", "W "]
_CITIES = [  # city, state, first of a run of ZIP codes in use there
    ("Chicago", "IL", 60601),
    ("Austin", "TX", 78701),
    ("Houston", "TX", 77002),
    ("Denver", "CO", 80202),
    ("Seattle", "WA", 98101),
    ("Portland", "OR", 97201),
    ("Boston", "MA", 2108),
    ("Atlanta", "GA", 30303),
    ("Phoenix", "AZ", 85003),
    ("Columbus", "OH", 43201),
    ("Nashville", "TN", 37203),
    ("Baltimore", "MD", 21201),
]


def us_addresses(count, seed=1):
    """`count` rows (street, city, state, zip), no two of them the same place. Same seed, same rows.

    A place is numbered once and for all; the shuffle only decides the order, so that the rows are
    distinct by construction.
    """
    combinations = len(_STREETS) * len(_TYPES) * len(_CITIES)
    places = list(range(count))
    random.Random(seed).shuffle(places)
    rows = []
    for place in places:
        number, rest = divmod(place, combinations)
        rest, city = divmod(rest, len(_CITIES))
        street, kind = divmod(rest, len(_TYPES))
        name, state, zip_code = _CITIES[city]
        direction = _DIRECTIONS[(street + city) % len(_DIRECTIONS)]
        rows.append(
            (
                f"{101 + 2 * number + 4 * (place % 23) * 1000} {direction}{_STREETS[street]} {_TYPES[kind]}",
                name,
                state,
                f"{zip_code + street % 5:05d}",
            )
        )
    return rows


def write_csv(path, rows):
    """One row per address: in one cell and in four, with an id and a cell that has to survive."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("id", "address", "street", "city", "state", "zip", "note"))
        for i, (street, city, state, zip_code) in enumerate(rows):
            line = f"{street}, {city}, {state} {zip_code}"
            writer.writerow((i, line, street, city, state, zip_code, f"row {i}, as sent"))
    return path
