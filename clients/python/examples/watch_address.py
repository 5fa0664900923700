"""
Prints what happens to an address; when started again, it continues where it stopped.

    TAPELINE_URL=http://127.0.0.1:8080 TAPELINE_KEY=svc_test_… python watch_address.py kaspatest:qr… [events]
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import tapeline

SOMPI = 100_000_000


def show(event: Any) -> None:
    if event["kind"] == "utxos_changed":
        data = event["data"]
        change = sum(each["amount_sompi"] for each in data["added"]) - sum(each["amount_sompi"] for each in data["removed"])
        word = "taken back" if data["retracted"] else "confirmed"
        print(f"{event['created_at']}  {word}  {change / SOMPI:+.8f}  {data['tx_id']}", flush=True)
    elif event["kind"] == "mempool_entry":
        print(f"{event['created_at']}  pending  {event['data']['tx_id']}", flush=True)


def store(place: Path, position: int) -> None:
    new = place.with_suffix(".new")
    new.write_text(str(position))
    new.replace(place)


async def store_every_second(place: Path, stream: tapeline.AsyncEventStream) -> None:
    """Also before the first event, so that none is lost if the program is stopped until then."""
    while True:
        await asyncio.sleep(1)
        if stream.position is not None:
            store(place, stream.position)


async def main(address: str, count: int) -> None:
    place = Path(f".watch-{address.split(':')[-1][:16]}")
    resume_after = int(place.read_text()) if place.exists() else None
    async with tapeline.AsyncClient() as tl:
        kinds = ["mempool_entry", "utxos_changed"]
        stream = tl.stream(kinds, [address], resume_after, on_gap=lambda gap: print("missed:", gap))
        print(f"watching {address}", flush=True)
        storing = asyncio.create_task(store_every_second(place, stream))
        async with stream:
            async for event in stream:
                # Nothing is awaited from here to `store`, so an event whose printing failed is received again.
                show(event)
                store(place, event["seq"])
                count -= 1
                if count == 0:
                    break
        storing.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else -1))
