"""The tables of aims in bench/README.md: what each suite is to reach (bench/aims.json) beside what was measured last.

A table stands between the lines `<!-- aims: SUITE -->` and `<!-- /aims -->`; what stands there is replaced.
"""

import json
import re
from pathlib import Path

PAGE = "bench/README.md"
AIMS = "bench/aims.json"
_PLACE = re.compile(r"(?<=^<!-- aims: )(\w+)( -->\n)(.*?)(?=^<!-- /aims -->$)", re.M | re.S)
_PASSES = {"<=": lambda value, limit: value <= limit, "<": lambda value, limit: value < limit, ">=": lambda value, limit: value >= limit}


def verdict(entry: dict, must: str) -> str:
    """By the median, and by the round that was farthest from the aim."""
    sign, limit = must.split()
    passes = _PASSES[sign]
    low, high = entry["spread"]
    worst = low if sign == ">=" else high
    if passes(worst, float(limit)):
        return "met"
    return "met by the median, missed by the worst round" if passes(entry["value"], float(limit)) else "missed"


def page(text: str, aims: dict, latest: dict[str, dict], number) -> str:
    """`latest`: figure → its last line of the ledger; `number`: how a value is written."""

    def table(match: re.Match) -> str:
        lines = ["", "| aim | measured (lowest … highest) | n | commit | |", "|---|---|---:|---|---|"]
        for aim in aims[match[1]]:
            entry = latest[f"{match[1]}.{aim['figure']}"]
            low, high = (number(value) for value in entry["spread"])
            lines.append(f"| {aim['aim']} | {number(entry['value'])} {entry['unit']} ({low} … {high}) | {entry['n']} | {entry['commit']} | {verdict(entry, aim['must'])} |")
        return f"{match[1]}{match[2]}" + "\n".join(lines) + "\n\n"

    return _PLACE.sub(table, text)


def read(root: Path) -> dict:
    file = root / AIMS
    return {suite: rows for suite, rows in json.loads(file.read_text()).items() if suite != "about"} if file.exists() else {}


def wrong(text: str, aims: dict, latest: dict[str, dict]) -> list[str]:
    """What keeps the page from being made."""
    shown = {match[1] for match in _PLACE.finditer(text)}
    found = [f"{PAGE}: shows aims of {suite}, {AIMS} has none" for suite in sorted(shown - aims.keys())]
    found += [f"{AIMS}: {suite} is shown nowhere in {PAGE}" for suite in sorted(aims.keys() - shown)]
    for suite, rows in aims.items():
        for aim in rows:
            if f"{suite}.{aim['figure']}" not in latest:
                found.append(f"{AIMS}: no line of the ledger has the figure {suite}.{aim['figure']}")
            if not re.fullmatch(r"(<=|<|>=) [\d.]+", aim["must"]):
                found.append(f"{AIMS}: {suite}.{aim['figure']}: `{aim['must']}` is no comparison")
    return found
