"""
Draws candles as an SVG and shades the times that were not recorded, because a gap is not a quiet market.

    TAPELINE_URL=http://127.0.0.1:8080 TAPELINE_KEY=svc_test_… python candles_with_gaps.py BTC candles.svg
"""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone

import tapeline

WIDTH, HEIGHT, MARGIN = 1200, 500, 20
MAX_CREDITS = 5_000


def seconds(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def main(symbol: str, file: str) -> None:
    end = datetime.now(timezone.utc)
    start = end - timedelta(hours=30)
    with tapeline.Client() as tl:
        candles = tl.candles(symbol, source="cexa", interval="15m", start=start, end=end, limit=500)
        rows = candles.rows(max_credits=MAX_CREDITS)
        gaps = candles.gaps
    if not rows:
        raise SystemExit("nothing is recorded there yet")

    low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
    first, last = start.timestamp(), end.timestamp()

    def x(at: float) -> float:
        return MARGIN + (at - first) / (last - first) * (WIDTH - 2 * MARGIN)

    def y(price: float) -> float:
        return MARGIN + (high - price) / ((high - low) or 1) * (HEIGHT - 2 * MARGIN)

    shapes = []
    for gap in gaps:
        left, right = x(max(first, seconds(gap["from"]))), x(min(last, seconds(gap["to"])))
        shapes.append(
            f'<rect x="{left:.1f}" y="0" width="{right - left:.1f}" height="{HEIGHT}" fill="#8888" class="gap">'
            f"<title>{gap['source']}: {gap['reason']}</title></rect>"
        )
    bar = 15 * 60 / (last - first) * (WIDTH - 2 * MARGIN) * 0.7
    for row in rows:
        at = x(seconds(row["timestamp"]) + 15 * 60 / 2)
        colour = "#2a9d8f" if row["close"] >= row["open"] else "#e76f51"
        top, bottom = y(max(row["open"], row["close"])), y(min(row["open"], row["close"]))
        shapes.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{y(row["high"]):.1f}" y2="{y(row["low"]):.1f}" stroke="{colour}"/>')
        shapes.append(
            f'<rect x="{at - bar / 2:.1f}" y="{top:.1f}" width="{bar:.1f}" height="{max(1, bottom - top):.1f}" fill="{colour}"/>'
        )
    with open(file, "w", encoding="utf-8") as out:
        out.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">{"".join(shapes)}</svg>\n')
    print(f"{len(rows)} candles, {len(gaps)} gaps: {file}")


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["BTC", "candles.svg"]))
