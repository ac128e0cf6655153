"""Draw a cell as SVG: lost and repeated steps over the rate, a line per arm; readable in both themes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from evaluation.results import Mean

_STYLE: Final = """\
text { font: 12px system-ui, sans-serif; fill: #1f2328 } .dim { fill: #59636e } .axis { stroke: #59636e; fill: none }
line.grid { stroke: #d1d9e0 } polyline { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .dim { fill: #9198a1 } .axis { stroke: #9198a1 }
line.grid { stroke: #3d444d } }"""

_COLOURS: Final = ("#848d97", "#bc4c00", "#9a6cf0", "#1f7ae0", "#2a9d4a", "#bf8700", "#d9434e", "#0b8a99", "#b05cc9")
_DASHES: Final = ("none", "6 3", "2 3", "none", "6 3", "2 3", "8 3 2 3", "4 4", "1 4")

_PANEL, _HEIGHT, _LEFT, _TOP, _GAP = 270, 170, 40, 34, 60


def draw_cell(title: str, field: str, panels: Mapping[str, Mapping[str, Sequence[tuple[float, Mean]]]]) -> str:
    """Return one picture: a panel for each measure, in it a line for each arm."""
    arms = list(next(iter(panels.values())))
    width = _LEFT + len(panels) * (_PANEL + _GAP)
    rows = (len(arms) + 2) // 3
    height = _TOP + _HEIGHT + 48 + 18 * rows
    parts = [f'<text x="8" y="18" font-weight="600">{escape(title)}</text>']
    for number, (measure, lines) in enumerate(panels.items()):
        parts += _draw_panel(_LEFT + number * (_PANEL + _GAP), measure, field, lines)
    for number, arm in enumerate(arms):
        x, y = _LEFT + 200 * (number % 3), _TOP + _HEIGHT + 52 + 18 * (number // 3)
        parts.append(f'<line x1="{x}" y1="{y - 4}" x2="{x + 24}" y2="{y - 4}" {_stroke(number)}/>')
        parts.append(f'<text x="{x + 30}" y="{y}">{escape(arm)}</text>')
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img"><title>{escape(title)}</title>\n<style>{_STYLE}</style>\n{body}\n</svg>\n'
    )


def _draw_panel(left: int, measure: str, field: str, lines: Mapping[str, Sequence[tuple[float, Mean]]]) -> list[str]:
    rates = [rate for rate, _ in max(lines.values(), key=len)]
    top = max([mean.value + mean.half for line in lines.values() for _, mean in line] + [1.0])
    bottom = _TOP + _HEIGHT

    def place(rate: float, value: float) -> tuple[float, float]:
        step = rates.index(rate) / max(1, len(rates) - 1)
        return left + step * _PANEL, bottom - value / top * (_HEIGHT - 16)

    parts = [f'<text x="{left}" y="{_TOP}" class="dim">{escape(measure)} steps, mean</text>']
    for share in (0.0, 0.5, 1.0):
        _, y = place(rates[0], top * share)
        parts.append(f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{left + _PANEL}" y2="{y:.1f}"/>')
        parts.append(f'<text class="dim" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{top * share:.1f}</text>')
    for rate in rates:
        x, _ = place(rate, 0)
        parts.append(f'<text class="dim" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{field} {rate:g}</text>')
    for number, line in enumerate(lines.values()):
        points = [place(rate, mean.value) for rate, mean in line]
        shown = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{shown}" {_stroke(number)}/>')
        for (rate, mean), (x, _) in zip(line, points, strict=True):
            low, high = place(rate, max(0.0, mean.value - mean.half))[1], place(rate, mean.value + mean.half)[1]
            parts.append(f'<line x1="{x:.1f}" y1="{low:.1f}" x2="{x:.1f}" y2="{high:.1f}" {_stroke(number)}/>')
    return parts


def _stroke(number: int) -> str:
    place = number % len(_COLOURS)
    return f'stroke="{_COLOURS[place]}" stroke-dasharray="{_DASHES[place]}"'
