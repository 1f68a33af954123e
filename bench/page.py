# SPDX-License-Identifier: Apache-2.0
"""The table of a benchmark run as text, as Markdown and as one HTML page with plots."""
import html
import math

HEADERS = ["", "time", "spread", "moved", "rate", "of limit", "ratio", "target", ""]


class Row:
    """One measurement. `limit`: bytes per second of the streaming pass in the same run."""

    def __init__(self, name, samples=None, moved=0, limit=0, ratio="", target="", met=None, note=""):
        self.name, self.samples, self.moved, self.limit = name, samples, moved, limit
        self.ratio, self.target, self.met, self.note = ratio, target, met, note

    def cells(self):
        rate = self.moved / self.samples.time if self.moved else 0
        return [self.name, duration(self.samples.time), f"±{100 * self.samples.spread():.0f} %",
                size(self.moved) if self.moved else "", f"{rate / 1e9:.1f} GB/s" if rate else "",
                f"{100 * rate / self.limit:.0f} %" if rate and self.limit else "", self.ratio,
                self.target, self.verdict()]

    def verdict(self):
        return {None: "", True: "met", False: "missed"}[self.met]


class Section:
    def __init__(self, title, rows, points=None, symbol=""):
        self.title, self.rows, self.points, self.symbol = title, rows, points, symbol


def duration(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1 or unit == "µs":
            return f"{seconds * scale:.3g} {unit}"


def size(count):
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3), ("B", 1)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"


def text_table(sections):
    rows = [HEADERS] + [row.cells() for section in sections for row in section.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADERS))]

    def line(cells, note=""):
        aligned = [cells[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(cells[1:], widths[1:])]
        return ("  ".join(aligned) + ("  " + note if note else "")).rstrip()

    lines = [line(HEADERS)]
    for section in sections:
        lines += ["", section.title] + [line(row.cells(), row.note) for row in section.rows]
    return "\n".join(lines)


def markdown_table(sections):
    lines = []
    for section in sections:
        lines += [f"**{section.title}**", "", "| | time | spread | moved | rate | of limit | ratio | target | |",
                  "|---|--:|--:|--:|--:|--:|--:|--:|---|"]
        for row in section.rows:
            cells = row.cells()
            lines.append("| " + " | ".join([*cells[:-1], "; ".join(x for x in (cells[-1], row.note) if x)]) + " |")
        lines.append("")
    return "\n".join(lines)


# ---- the page ------------------------------------------------------------------------------------

STYLE = """
:root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --ink: #1c2430; --soft: #5a6675; --rule: #dde2e8;
  --grid: #e9ecf0; --line: #0072b2; --safe: #0b6b4d; --safe-back: #e6f5ef; --warn: #8a4b00; --warn-back: #fff4e2; --bar: #d7e7f5; }
@media (prefers-color-scheme: dark) { :root { --page: #12161c; --card: #1a2028; --ink: #e4e9ef; --soft: #9aa7b6;
  --rule: #303944; --grid: #262e38; --line: #56b4e9; --safe: #6fd3ae; --safe-back: #17302a; --warn: #f3bd73;
  --warn-back: #33271a; --bar: #20364d; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 0 24px 48px; max-width: 1320px; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { margin: 36px 0 0; font-size: 28px; letter-spacing: -0.01em; }
h2 { margin: 32px 0 12px; font-size: 20px; }
p { margin: 6px 0; max-width: 95ch; }
.soft { color: var(--soft); font-size: 13px; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--rule); border-radius: 8px; }
table { width: 100%; border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 10px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--rule); }
th { color: var(--soft); font-size: 12.5px; }
td:first-child, th:first-child, td:last-child { text-align: left; }
td:last-child { min-width: 36ch; white-space: normal; color: var(--soft); font-size: 13px; }
tr.part td:first-child { padding-left: 28px; color: var(--soft); }
tr.head td:first-child { padding-top: 20px; color: var(--ink); font-size: 15px; font-weight: 600; white-space: normal; }
tr:last-child td { border-bottom: 0; }
.share { background: linear-gradient(to left, var(--bar) var(--w), transparent var(--w)); }
.verdict { padding: 1px 9px; border-radius: 10px; font-size: 12px; font-weight: 600; }
.met { color: var(--safe); background: var(--safe-back); } .missed { color: var(--warn); background: var(--warn-back); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(380px, 100%), 1fr)); gap: 18px; }
figure { margin: 0; padding: 14px 16px; background: var(--card); border: 1px solid var(--rule); border-radius: 8px; }
figcaption { font-weight: 600; }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--soft); font-size: 12px; }
.grid { stroke: var(--grid); } .line { fill: none; stroke: var(--line); stroke-width: 2; }
.ideal { fill: none; stroke: var(--soft); stroke-dasharray: 6 5; } .dot { fill: var(--line); }
svg text.value { fill: var(--ink); paint-order: stroke; stroke: var(--card); stroke-width: 4px; }
"""

INTRO = """Every number is from one run: the programs take turns in short slices, many passes over, so what slows the
machine slows all of them. Times are medians per round and ratios medians of the ratio
within a pass (with --busy both are from the fastest slices); the spread is half the distance between the quartiles. "Moved" is
the least that must be read and written, "of limit" the rate beside the streaming pass of the same section."""


def html_page(where, sections):
    body = [f"<h1>porter: speed</h1><p class=soft>{html.escape(where)}</p><p>{INTRO}</p>", "<h2>Table</h2>", html_table(sections)]
    plots = [html_plot(section) for section in sections if section.points]
    body += ["<h2>Growth</h2>", "<p class=soft>Time per round. The dashed line grows in proportion from the first point.</p>",
             f"<div class=plots>{''.join(plots)}</div>"]
    return ("<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
            f"<title>porter: speed</title><style>{STYLE}</style><body>{''.join(body)}</body></html>\n")


def html_table(sections):
    out = ["<div class=scroll><table><tr>" + "".join(f"<th>{h}</th>" for h in HEADERS) + "</tr>"]
    for section in sections:
        out.append(f"<tr class=head><td colspan={len(HEADERS)}>{html.escape(section.title)}</td></tr>")
        out += [html_row(row) for row in section.rows]
    return "".join(out) + "</table></div>"


def html_row(row):
    cells = [html.escape(cell) for cell in row.cells()]
    share = cells[5].removesuffix(" %")
    tds = [f"<td>{cell}</td>" for cell in cells]
    if share:
        tds[5] = f"<td class=share style='--w:{min(float(share), 100)}%'>{cells[5]}</td>"
    verdict = f"<span class='verdict {cells[8]}'>{cells[8]}</span> " if cells[8] else ""
    tds[8] = f"<td>{verdict}{html.escape(row.note)}</td>"
    return f"<tr{' class=part' if row.name.startswith(' ') else ''}>{''.join(tds)}</tr>"


def html_plot(section):
    """Log-log, with a dot and its value at every point."""
    width, height, left, right, top, bottom = 440, 260, 16, 40, 28, 34
    xs, ys = section.points, [row.samples.time for row in section.rows]
    ideal = [ys[0] * x / xs[0] for x in xs] if section.symbol != "threads" else [ys[0] * xs[0] / x for x in xs]
    low, high = min(ys + ideal), max(ys + ideal)

    def place(value, first, last, start, end):
        return start if first == last else start + (end - start) * math.log(value / first) / math.log(last / first)

    def at(x, y):
        return (place(x, xs[0], xs[-1], left + 24, width - right), place(y, low, high, height - bottom - 8, top))

    def path(values):
        return "M" + "L".join("{:.1f} {:.1f}".format(*at(x, y)) for x, y in zip(xs, values))

    parts = [f"<svg viewBox='0 0 {width} {height}' role=img aria-label='{html.escape(section.title)}'>"]
    for x in xs:
        px = at(x, low)[0]
        parts.append(f"<path class=grid d='M{px:.1f} {top - 8}V{height - bottom}'/>"
                     f"<text x={px:.1f} y={height - bottom + 16} text-anchor=middle>{x:,}</text>")
    parts.append(f"<text x={width - right} y={height - 4} text-anchor=end>{section.symbol}</text>")
    parts.append(f"<path class=ideal d='{path(ideal)}'/><path class=line d='{path(ys)}'/>")
    for x, y in zip(xs, ys):
        px, py = at(x, y)
        parts.append(f"<circle class=dot r=4 cx={px:.1f} cy={py:.1f} />"
                     f"<text class=value x={px:.1f} y={py - 10:.1f} text-anchor=middle>{duration(y)}</text>")
    return f"<figure><figcaption>{html.escape(section.title)}</figcaption>{''.join(parts)}</svg></figure>"
