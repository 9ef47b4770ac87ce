"""bench/ledger.jsonl: every figure ever quoted, a line of JSON each, and docs/figures.md, which is made from it.

  figure    dotted name, suite first: kube.list_decode_10k
  value     a number; unit: ms, MiB, events/s …
  n         how many runs stand behind it; spread: [lowest, highest] of them
  command   what was run; commit: of what ("-dirty" when the tree had changes); machine: on what; date: when (UTC)
"""

import json
import re
from pathlib import Path

from driver import aims

LEDGER = "bench/ledger.jsonl"
TABLE = "docs/figures.md"
FIELDS = {"figure": str, "value": (int, float), "unit": str, "n": int, "spread": list, "command": str, "commit": str, "machine": str, "date": str}


def problem(entry) -> str:
    """What is wrong with an entry; empty when nothing is."""
    if not isinstance(entry, dict):
        return "not an object"
    unknown, missing = set(entry) - set(FIELDS), set(FIELDS) - set(entry)
    if unknown or missing:
        return f"missing {sorted(missing)}, unknown {sorted(unknown)}"
    for name, kind in FIELDS.items():
        if not isinstance(entry[name], kind) or isinstance(entry[name], bool):
            return f"`{name}` is {entry[name]!r}"
    low_high = entry["spread"]
    if len(low_high) != 2 or not all(isinstance(v, (int, float)) for v in low_high) or not low_high[0] <= entry["value"] <= low_high[1]:
        return f"`spread` {low_high} does not hold the value {entry['value']}"
    if entry["n"] < 1 or "." not in entry["figure"]:
        return "`n` must be 1 or more and `figure` a dotted name with its suite first"
    return ""


def read(root: Path) -> tuple[list[dict], list[str]]:
    entries, wrong = [], []
    file = root / LEDGER
    for number, line in enumerate(file.read_text().splitlines() if file.exists() else [], 1):
        try:
            entry = json.loads(line)
        except ValueError as error:
            wrong.append(f"{LEDGER}:{number}: {error}")
            continue
        found = problem(entry)
        if found:
            wrong.append(f"{LEDGER}:{number}: {found}")
        else:
            entries.append(entry)
    return entries, wrong


def _number(value) -> str:
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.3g}" if abs(value) < 100 else f"{value:,.0f}"


def _latest(entries: list[dict]) -> dict[str, dict]:
    return {entry["figure"]: entry for entry in entries}


def pages(root: Path, entries: list[dict]) -> dict[str, str]:
    """Every page that is made from the ledger, or in part: path → what it is to hold. Failed where the aims cannot be shown."""
    made = {TABLE: table(entries)}
    file = root / aims.PAGE
    if file.exists():
        made[aims.PAGE] = aims.page(file.read_text(), aims.read(root), _latest(entries), _number)
    return made


def table(entries: list[dict]) -> str:
    """The latest line of each figure, a table a suite."""
    latest = _latest(entries)
    lines = [
        "# Figures", "",
        "Made from `bench/ledger.jsonl` by `./dev bench tables`; a test holds the two in step. The latest measurement of each figure:", "",
    ]
    suites = sorted({figure.split(".", 1)[0] for figure in latest})
    for suite in suites:
        lines += [f"## {suite}", "", "| figure | value | lowest … highest | n | commit | machine | command |", "|---|---:|---:|---:|---|---|---|"]
        for figure in sorted(f for f in latest if f.split(".", 1)[0] == suite):
            e = latest[figure]
            spread = f"{_number(e['spread'][0])} … {_number(e['spread'][1])}"
            lines.append(
                f"| {figure.split('.', 1)[1]} | {_number(e['value'])} {e['unit']} | {spread} | {e['n']} | {e['commit']} | {e['machine']} | `{e['command']}` |"
            )
        lines.append("")
    if not suites:
        lines += ["Nothing has been measured yet.", ""]
    return "\n".join(lines)


def unshowable(root: Path, entries: list[dict]) -> list[str]:
    file = root / aims.PAGE
    return aims.wrong(file.read_text(), aims.read(root), _latest(entries)) if file.exists() else []


def out_of_step(root: Path) -> list[str]:
    entries, wrong = read(root)
    wrong = wrong or unshowable(root, entries)
    if wrong:
        return wrong
    for page, text in pages(root, entries).items():
        file = root / page
        if (file.exists() or entries) and (not file.exists() or file.read_text() != text):
            wrong.append(f"{page}: is not what {LEDGER} says: ./dev bench tables")
    return wrong + commands_by_hand(entries)


# Measured last by calling bench/SUITE/run.py; the next `./dev bench SUITE` takes it off this list.
BY_HAND = {"webhook"}


def commands_by_hand(entries: list[dict]) -> list[str]:
    """The latest line of a figure says how anybody measures it again. (Earlier lines stay as they were written.)"""
    return [
        f"{LEDGER}: {figure} was measured last by `{entry['command']}`: ./dev bench {figure.split('.')[0]}"
        for figure, entry in _latest(entries).items() if figure.split(".")[0] not in BY_HAND and not re.fullmatch(r"\./dev bench \w+", entry["command"])
    ]
