# SPDX-License-Identifier: Apache-2.0
"""What notebooks show: small, without scripts, in the colours of the notebook."""
import html
import math


def note(title, text, good):
    colour = "#2e8b57" if good else "#b8860b"
    return (f'<div style="border-left:4px solid {colour};padding:.3em .8em;margin:.5em 0">'
            f"<b>{html.escape(title)}</b><br>{html.escape(text)}</div>")


def curve(x, y, title, width=320, height=160):
    """A line as SVG; points that are no numbers are left out."""
    points = [(a, b) for a, b in zip(x, y) if math.isfinite(a) and math.isfinite(b)]
    if len(points) < 2:
        return ""
    left, right, top, bottom = 46, 8, 20, 18
    low, high = min(b for _, b in points), max(b for _, b in points)
    first, last = points[0][0], points[-1][0]
    high = high if high > low else low + 1
    last = last if last > first else first + 1
    place = [(left + (a - first) / (last - first) * (width - left - right),
              height - bottom - (b - low) / (high - low) * (height - top - bottom)) for a, b in points]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in place)
    text = f'font-size="10" fill="currentColor" font-family="sans-serif"'
    return (f'<svg width="{width}" height="{height}" role="img" aria-label="{html.escape(title)}">'
            f'<text x="{left}" y="12" {text} font-weight="bold">{html.escape(title)}</text>'
            f'<text x="{left - 4}" y="{top + 4}" {text} text-anchor="end">{high:.3g}</text>'
            f'<text x="{left - 4}" y="{height - bottom}" {text} text-anchor="end">{low:.3g}</text>'
            f'<text x="{width - right}" y="{height - 4}" {text} text-anchor="end">round {last:g}</text>'
            f'<path d="M{left},{top}V{height - bottom}H{width - right}" fill="none" stroke="currentColor" opacity=".4"/>'
            f'<polyline points="{path}" fill="none" stroke="#4a90d9" stroke-width="1.8"/></svg>')
