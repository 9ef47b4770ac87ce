"""bench/ledger.jsonl: the latest value of every figure, a line of JSON each, and the two pages that are made from it and from bench/aims.json.

  figure    dotted name, suite first: kube.list_decode_10k
  value     a number; unit: ms, MiB, events/s …
  n         how many runs stand behind it; spread: [lowest, highest] of them
  command   what was run; commit: of what ("-dirty" when the tree had changes); machine: on what; date: when (UTC)
"""

import json
import re
import subprocess
from pathlib import Path

LEDGER = "bench/ledger.jsonl"
AIMS = "bench/aims.json"
TABLE = "docs/figures.md"
ALL = "bench/all_figures.md"
HEADLINES_MAX, OLD_COMMITS, OLD = 25, 200, " (old)"
_PASSES = {"<=": lambda value, limit: value <= limit, "<": lambda value, limit: value < limit, ">=": lambda value, limit: value >= limit}
AIM_HEAD = ("| figure | aim | verdict | configuration | value | n | command | commit |", "|---|---|---|---|---:|---:|---|---|")
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


def aims(root: Path) -> list[dict]:
    file = root / AIMS
    return json.loads(file.read_text())["aims"] if file.exists() else []


def headlines(root: Path) -> list[dict]:
    return [aim for aim in aims(root) if aim.get("headline")]


def verdict(entry: dict, must: str) -> str:
    """By the median, and by the round that was farthest from the aim."""
    sign, limit = must.split()
    passes = _PASSES[sign]
    if passes(entry["spread"][0 if sign == ">=" else 1], float(limit)):
        return "met"
    return "met by the median only" if passes(entry["value"], float(limit)) else "**missed**"


def _row(entry: dict, *cells: str) -> str:
    low, high = (_number(value) for value in entry["spread"])
    value, command = f"{_number(entry['value'])} {entry['unit']} ({low} … {high})", f"`{entry['command']}`"
    return f"| {' | '.join([*cells, value, str(entry['n']), command, entry['commit']])} |"


def _with_aim(entry: dict | None, aim: dict) -> str:
    if entry is None:
        return f"| {aim['figure']} | {aim['aim']} | not measured | {aim['configuration']} | – | – | – | – |"
    return _row(entry, aim["figure"], aim["aim"], verdict(entry, aim["must"]), aim["configuration"])


def _is_old(root: Path, commit: str) -> bool:
    """A working copy without the commit (a shallow one) cannot tell its age: it counts as old."""
    count = subprocess.run(["git", "-C", root, "rev-list", "--count", f"{commit.removesuffix('-dirty')}..HEAD"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return count.returncode != 0 or int(count.stdout) > OLD_COMMITS


def pages(root: Path, entries: list[dict]) -> dict[str, str]:
    """The headline figures with their aims, and the latest line of every figure: path → text."""
    latest = _latest(entries)
    marks = {entry["commit"]: OLD if _is_old(root, entry["commit"]) else "" for entry in latest.values()}
    latest = {figure: {**entry, "commit": entry["commit"] + marks[entry["commit"]]} for figure, entry in latest.items()}
    head = ["# Figures", "", f"The headline figures, each the median of its rounds (lowest … highest), from the latest line of `{LEDGER}`.",
            f"`{OLD.strip()}`: measured more than {OLD_COMMITS} commits ago. `-dirty`: measured with uncommitted changes. Values may differ today.",
            f"[All figures](../{ALL}), [how they are measured](../bench/README.md).", "",
            *AIM_HEAD, *(_with_aim(latest.get(aim["figure"]), aim) for aim in headlines(root))]
    every = ["# All figures", "", "The latest measurement of each figure; `./dev bench tables` makes this page.", "", "## Other figures with an aim", "",
             *AIM_HEAD, *(_with_aim(latest.get(aim["figure"]), aim) for aim in aims(root) if not aim.get("headline")), ""]
    for suite in sorted({figure.split(".", 1)[0] for figure in latest}):
        every += [f"## {suite}", "", "| figure | value | n | command | commit |", "|---|---:|---:|---|---|"]
        every += [_row(latest[figure], figure.split(".", 1)[1]) for figure in sorted(latest) if figure.split(".", 1)[0] == suite] + [""]
    every += [f"Machines: {'; '.join(sorted({entry['machine'] for entry in latest.values()}))}.", ""]
    return {TABLE: "\n".join([*head, ""]), ALL: "\n".join(every)}


def unshowable(root: Path) -> list[str]:
    found, shown = aims(root), headlines(root)
    wrong = [f"{AIMS}: {len(shown)} headline figures, at most {HEADLINES_MAX}"] if len(shown) > HEADLINES_MAX else []
    return wrong + [f"{AIMS}: {aim['figure']}: `{aim['must']}` is no comparison" for aim in found if not re.fullmatch(r"(<=|<|>=) [\d.]+", aim["must"])]


def out_of_step(root: Path) -> list[str]:
    """The mark of age is not compared: it changes with every commit."""
    entries, wrong = read(root)
    wrong = wrong or unshowable(root)
    if wrong:
        return wrong
    for page, text in pages(root, entries).items() if entries else ():
        file = root / page
        if not file.exists() or file.read_text().replace(OLD, "") != text.replace(OLD, ""):
            wrong.append(f"{page}: is not what {LEDGER} says: ./dev bench tables")
    return wrong + commands_by_hand(entries)


# Measured last by calling bench/SUITE/run.py; the next `./dev bench SUITE` takes it off this list.
BY_HAND = {"webhook"}


def commands_by_hand(entries: list[dict]) -> list[str]:
    """Figures whose latest line does not have a command that measures them again."""
    return [
        f"{LEDGER}: {figure} was measured last by `{entry['command']}`: ./dev bench {figure.split('.')[0]}"
        for figure, entry in _latest(entries).items() if figure.split(".")[0] not in BY_HAND and not re.fullmatch(r"\./dev bench \w+", entry["command"])
    ]
