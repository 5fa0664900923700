"""
Prints what happens to an address; when started again, it continues where it stopped.

    TAPELINE_URL=http://127.0.0.1:8080 TAPELINE_KEY=svc_test_… python watch_address.py kaspatest:qr… [events]
"""

from __future__ import annotations

import sys
from pathlib import Path

import tapeline

SOMPI = 100_000_000


def main(address: str, count: int) -> None:
    place = Path(f".watch-{address.split(':')[-1][:16]}")
    resume_after = int(place.read_text()) if place.exists() else None
    with tapeline.Client() as tl:
        stream = tl.stream(["mempool_entry", "utxos_changed"], [address], resume_after, on_gap=lambda gap: print("missed:", gap))
        print(f"watching {address}", flush=True)
        for event in stream:
            if event["kind"] == "utxos_changed":
                data = event["data"]
                change = sum(each["amount_sompi"] for each in data["added"]) - sum(
                    each["amount_sompi"] for each in data["removed"]
                )
                word = "taken back" if data["retracted"] else "confirmed"
                print(f"{event['created_at']}  {word}  {change / SOMPI:+.8f}  {data['tx_id']}", flush=True)
            elif event["kind"] == "mempool_entry":
                print(f"{event['created_at']}  pending  {event['data']['tx_id']}", flush=True)
            # Stored only now, so that an event whose printing failed is received again.
            place.write_text(str(event["seq"]))
            count -= 1
            if count == 0:
                break


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else -1)
