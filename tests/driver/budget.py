"""tests/budget.txt: what each part of a run may take, in seconds on two cores, from nothing and with warm caches."""

import re
import subprocess
from dataclasses import dataclass

from driver import deploy_tools, kubernetes, packages, vm, yarn
from driver.console import Failed, loud, say
from driver.paths import ROOT

FILE = ROOT / "tests" / "budget.txt"
WHOLE = "all"  # of a plain run: everything but what is only in long
ONLY_LONG = {"long", "build-fuzz", "build-tsan-long", "build-asan-long"}
KNOWN_SHARE = 0.9  # of all compilations: so many come from the cache of a warm run


@dataclass(frozen=True)
class Allowed:
    cold: float
    warm: float


def parse(text: str) -> dict[str, Allowed]:
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split("#", 1)[0].split()
        if not fields:
            continue
        if len(fields) != 3 or not fields[1].isdigit() or not fields[2].isdigit():
            raise Failed(f"tests/budget.txt:{number}: wanted `NAME SECONDS SECONDS`, found `{line}`")
        found[fields[0]] = Allowed(float(fields[1]), float(fields[2]))
    return found


class Caches:
    """What was there when the run began, and what it then had to make."""

    def __init__(self):
        try:
            self._there = not packages.missing(packages.PACKAGES) and all(each.complete() for each in (kubernetes, deploy_tools, vm, yarn))
        except FileNotFoundError:  # no dpkg: setup says what to do
            self._there = False
        self._before = _compiled()

    def warm(self) -> bool:
        return self._there and mostly_known(self._before, _compiled())


def mostly_known(before: tuple[int, int], after: tuple[int, int]) -> bool:
    """(from the cache, all): what lies between them. Nothing compiled at all is as warm as can be."""
    known, compiled = after[0] - before[0], after[1] - before[1]
    return known >= KNOWN_SHARE * compiled


def _compiled() -> tuple[int, int]:
    try:
        text = subprocess.run(["ccache", "--print-stats"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    except FileNotFoundError:
        return 0, 0
    count = dict(re.findall(r"^(\w+)\s+(\d+)$", text, re.M))
    known = int(count.get("direct_cache_hit", 0)) + int(count.get("preprocessed_cache_hit", 0))
    return known, known + int(count.get("cache_miss", 0))


def report(took: dict[str, float], warm: bool) -> list[str]:
    """Prints each part beside its budget; returns the names that are over."""
    known = parse(FILE.read_text())
    budget = {name: allowed.warm if warm else allowed.cold for name, allowed in known.items()}
    say("budgets with warm caches:" if warm else "budgets where caches are cold:")
    over = []
    for name, seconds in took.items():
        allowed = budget.get(name)
        say(f"{name:<12} {seconds:7.1f} s of " + (f"{allowed:.0f} s" if allowed is not None else "no budget: add it to tests/budget.txt"))
        if allowed is not None and seconds > allowed:
            over.append(name)
    for name in over:
        loud(f"OVER BUDGET: {name} took {took[name]:.0f} s, its budget is {budget[name]:.0f} s (tests/budget.txt)")
    return over
