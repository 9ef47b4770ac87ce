"""The measurements as a drawing (SVG) of two panels: the p99 of each second, on a logarithmic scale, and the shares of the CPUs."""

import math
from xml.sax.saxutils import escape

from demo.measure import Measured
from demo.table import duration

COLORS = ("#2f6f4f", "#b5452c", "#2d5f9a", "#8a6d1f")
WIDTH, HEIGHT, LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT = 760, 560, 80, 50, 640, 240
BARS_TOP, BAR_HEIGHT, BAR_STEP = 370, 24, 44


def svg(stages: dict[str, Measured], cores: int, title: str) -> str:
    parts = [_text(LEFT, 24, title, size=15)]
    parts += _latencies(stages)
    parts += _processors(stages, cores)
    body = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'


def _latencies(stages: dict[str, Measured]) -> list[str]:
    values = [line["p99_us"] for found in stages.values() for line in found.seconds if line["p99_us"] > 0]
    if not values:
        return []
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)

    def y(value: float) -> float:
        return TOP + PLOT_HEIGHT * (1 - (math.log10(value) - low) / (high - low))

    parts = [_text(LEFT, TOP - 6, "p99 of the requests that were due in each second", size=11)]
    for power in range(low, high + 1):
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + PLOT_WIDTH}" y1="{y(10**power):.1f}" y2="{y(10**power):.1f}" stroke="#ddd"/>')
        parts.append(_text(LEFT - 6, y(10**power) + 4, duration(10**power), anchor="end"))
    longest = max(len(found.seconds) for found in stages.values())
    for color, (name, found) in zip(COLORS, stages.items()):
        points = [(LEFT + PLOT_WIDTH * (line["second"] + 0.5) / longest, y(line["p99_us"])) for line in found.seconds if line["p99_us"] > 0]
        parts.append(f'<polyline fill="none" stroke="{color}" stroke-width="2" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}"/>')
        if points:
            parts.append(_text(points[-1][0] + 4, points[-1][1] - 5, name, color=color, anchor="end"))
    parts.append(_text(LEFT + PLOT_WIDTH, TOP + PLOT_HEIGHT + 18, f"{longest} s", anchor="end"))
    return parts


def _processors(stages: dict[str, Measured], cores: int) -> list[str]:
    parts = [_text(LEFT, BARS_TOP - 10, f"the machine's {cores} processors: full colour is offline work, light is the rest, white is idle", size=11)]
    for i, (color, (name, found)) in enumerate(zip(COLORS, stages.items())):
        top = BARS_TOP + i * BAR_STEP
        offline = PLOT_WIDTH * min(1.0, found.batch_cores / cores)
        parts.append(f'<rect x="{LEFT}" y="{top}" width="{PLOT_WIDTH * found.busy:.1f}" height="{BAR_HEIGHT}" fill="{color}" fill-opacity="0.3"/>')
        parts.append(f'<rect x="{LEFT}" y="{top}" width="{offline:.1f}" height="{BAR_HEIGHT}" fill="{color}"/>')
        parts.append(f'<rect x="{LEFT}" y="{top}" width="{PLOT_WIDTH}" height="{BAR_HEIGHT}" fill="none" stroke="#888"/>')
        parts.append(_text(LEFT, top + BAR_HEIGHT + 13, f"{name}: {found.busy:.0%} busy, {found.batch_cores:.2f} cores for offline work", size=10))
    return parts


def _text(x: float, y: float, words: str, size: int = 11, color: str = "#222", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}" text-anchor="{anchor}">{escape(words)}</text>'
