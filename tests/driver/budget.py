"""tests/budget.txt: what each part of a run may take, in seconds on two cores with warm caches."""

from driver.console import Failed, loud, say
from driver.paths import ROOT

FILE = ROOT / "tests" / "budget.txt"


def parse(text: str) -> dict[str, float]:
    budget = {}
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split("#", 1)[0].split()
        if not fields:
            continue
        if len(fields) != 2 or not fields[1].isdigit():
            raise Failed(f"tests/budget.txt:{number}: wanted `NAME SECONDS`, found `{line}`")
        budget[fields[0]] = float(fields[1])
    return budget


def report(took: dict[str, float]) -> list[str]:
    """Prints each part beside its budget; returns the names that are over."""
    budget = parse(FILE.read_text())
    over = []
    for name, seconds in took.items():
        allowed = budget.get(name)
        say(f"{name:<12} {seconds:7.1f} s of " + (f"{allowed:.0f} s" if allowed is not None else "no budget: add it to tests/budget.txt"))
        if allowed is not None and seconds > allowed:
            over.append(name)
    for name in over:
        loud(f"OVER BUDGET: {name} took {took[name]:.0f} s, its budget is {budget[name]:.0f} s (tests/budget.txt)")
    return over
