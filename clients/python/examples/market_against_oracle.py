"""
Shows the price of the last resolved prediction market shortly before its close, and what the oracle said at the close.

    TAPELINE_URL=http://127.0.0.1:8080 TAPELINE_KEY=svc_test_… python market_against_oracle.py BTC
"""

from __future__ import annotations

import sys

import tapeline


def main(symbol: str) -> None:
    with tapeline.Client() as tl:
        listed = tl.markets(source="predmkt_a", symbol=symbol, market_type="5m", status="resolved", limit=100)
        # The newest market that has both books and oracle candles.
        for market in sorted(listed.page().rows, key=lambda each: each["end_time"] or "", reverse=True):
            up = next((token for token in market["tokens"] if token["outcome"] == "Up"), None)
            if up is None:
                continue
            start, end = market["start_time"], market["end_time"]
            books = tl.snapshots(
                symbol, source="predmkt_a", market_id=market["market_id"], start=start, end=end, order="desc", limit=1
            ).page()
            oracle = tl.candles(symbol, source="oracle", interval="5m", start=start, end=end).page()
            if books.rows and oracle.rows:
                break
        else:
            raise SystemExit("no market was recorded up to its resolution yet: try again in some minutes")

    book, candle = books.rows[0], oracle.rows[-1]
    said = "Up" if candle["close"] >= candle["open"] else "Down"
    print(market["question"] or market["slug"])
    print(f"  closed     {end}")
    print(f"  market     up at {book['price_up']} ({book['timestamp']})")
    print(f"  oracle     {candle['open']} to {candle['close']}: {said}")
    print(f"  resolved   {market['winner']}")


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["BTC"]))
