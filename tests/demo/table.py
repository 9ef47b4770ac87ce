"""What was measured, for a terminal."""

from demo.measure import Measured

HEAD = ("", "p50", "p99", "p99.9", "not answered", "machine busy", "offline work had")


def duration(microseconds: float) -> str:
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.1f} s"
    return f"{microseconds / 1e3:.{2 if microseconds < 10_000 else 0}f} ms"


def row(name: str, found: Measured) -> tuple[str, ...]:
    return (
        name, duration(found.p50_us), duration(found.p99_us), duration(found.p999_us), f"{found.failed:,}", f"{found.busy:.0%}".replace("%", " %"),
        f"{found.batch_cores:.2f} cores" if found.batch_cores else "–",
    )


def text(stages: dict[str, Measured]) -> str:
    rows = [HEAD, *(row(name, found) for name, found in stages.items())]
    widths = [max(len(each[i]) for each in rows) for i in range(len(HEAD))]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(each, widths))).rstrip() for each in rows) + "\n"


def price(alone: Measured, beside: Measured) -> str:
    """What a user pays for the offline work, and what that buys."""
    p99, p999 = (100 * getattr(beside, name) / getattr(alone, name) for name in ("p99_us", "p999_us"))
    return (
        f"The price of {beside.batch_cores:.2f} cores of offline work: p99 is {p99:.0f} % and p99.9 {p999:.0f} % of alone. "
        f"The machine is {100 * beside.busy:.0f} % busy instead of {100 * alone.busy:.0f} %.\n"
    )


def noise(rounds: dict[str, list[Measured]], rounds_from_s: int) -> str:
    """What the machine does by itself: how far the same thing, measured more than once, differs."""
    name, found = next(iter(rounds.items()))
    if len(found) < 2:
        return f"Measured once: another run may say otherwise. From --seconds={rounds_from_s} on it is the median of several rounds.\n"
    p99, p999 = [each.p99_us for each in found], [each.p999_us for each in found]
    return (
        f"Medians of {len(found)} rounds. In them p99 of the service {name} was {_from_to(p99)}, p99.9 {_from_to(p999)}: what differs by no more than that is the noise of "
        "this machine.\n"
    )


def _from_to(values: list[float]) -> str:
    return f"{duration(min(values))} to {duration(max(values))}"
