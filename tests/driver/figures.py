"""bench/ledger.jsonl: every figure ever quoted, a line of JSON each, and docs/figures.md, which is made from it.

  figure    dotted name, suite first: kube.list_decode_10k
  value     a number; unit: ms, MiB, events/s …
  n         how many runs stand behind it; spread: [lowest, highest] of them
  command   what was run; commit: of what ("-dirty" when the tree had changes); machine: on what; date: when (UTC)
"""

import json
from pathlib import Path

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


def table(entries: list[dict]) -> str:
    """The latest line of each figure, a table a suite."""
    latest = {entry["figure"]: entry for entry in entries}
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


def out_of_step(root: Path) -> list[str]:
    entries, wrong = read(root)
    file = root / TABLE
    if not wrong and (file.exists() or entries) and (not file.exists() or file.read_text() != table(entries)):
        wrong.append(f"{TABLE}: is not what {LEDGER} says: ./dev bench tables")
    return wrong
