"""The scenarios of clients/scenarios.json. Usage: run_scenarios.py lists|stream|async-stream '{"url": …, "key": …}'"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, List

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import tapeline  # noqa: E402

# Of all answers that arrived.
REQUEST_IDS: List[str] = []
SCENARIOS = json.loads((ROOT.parent / "scenarios.json").read_text())


class Opened:
    """Every scenario has a client of its own, so that none finds the pages of another."""

    def __init__(self, reached: Dict[str, Any], kind: Any = tapeline.Client) -> None:
        self.credits = 0
        self._lock = threading.Lock()
        self.client = kind(
            reached["url"],
            reached["key"],
            retries=reached["retries"],
            timeout=reached["timeoutMs"] / 1000,
            on_answer=self._count,
        )

    def _count(self, info: tapeline.AnswerInfo) -> None:
        with self._lock:
            self.credits += info.credits
            REQUEST_IDS.append(info.request_id)

    def call(self, operation: str, params: Dict[str, Any]) -> Any:
        return getattr(self.client, operation)(**params)


def run_list(reached: Dict[str, Any], scenario: Dict[str, Any]) -> Dict[str, Any]:
    opened = Opened(reached)
    listed = opened.call(scenario["operation"], scenario["params"])
    rows: List[Any] = []
    predicted, cursor = 0, None
    while True:
        predicted += listed.cost(cursor)["credits"]
        page = listed.page(cursor)
        rows += page.rows
        cursor = page.next_cursor
        if cursor is None:
            break
    paid = opened.credits
    again = sum(1 for _ in opened.call(scenario["operation"], scenario["params"]))
    unchanged = {"rows": again, "credits": opened.credits - paid}
    return {"rows": rows, "credits": paid, "predicted": predicted, "unchanged": unchanged}


def run_list_async(reached: Dict[str, Any], scenario: Dict[str, Any]) -> Dict[str, Any]:
    async def run() -> Dict[str, Any]:
        opened = Opened(reached, tapeline.AsyncClient)
        async with opened.client:
            listed = opened.call(scenario["operation"], scenario["params"])
            rows: List[Any] = []
            predicted, cursor = 0, None
            while True:
                predicted += (await listed.cost(cursor))["credits"]
                page = await listed.page(cursor)
                rows += page.rows
                cursor = page.next_cursor
                if cursor is None:
                    break
            paid = opened.credits
            again = 0
            async for _ in opened.call(scenario["operation"], scenario["params"]):
                again += 1
            unchanged = {"rows": again, "credits": opened.credits - paid}
            return {"rows": rows, "credits": paid, "predicted": predicted, "unchanged": unchanged}

    return asyncio.run(run())


def run_object(reached: Dict[str, Any], scenario: Dict[str, Any]) -> Dict[str, Any]:
    opened = Opened(reached)
    predicted = opened.client.cost(scenario["operation"], **scenario["params"])["credits"]
    value = opened.call(scenario["operation"], scenario["params"])
    return {"value": value, "credits": opened.credits, "predicted": predicted}


def run_error(reached: Dict[str, Any], scenario: Dict[str, Any]) -> Dict[str, Any]:
    try:
        asked = Opened(reached).call(scenario["operation"], scenario["params"])
        if isinstance(asked, tapeline.Rows):
            asked.page()
    except tapeline.ApiError as error:
        return {"status": error.status, "code": error.code, "class_name": type(error).__name__}
    raise AssertionError(f"no refusal of {scenario['operation']}")


def run_budget(reached: Dict[str, Any]) -> Dict[str, Any]:
    scenario = SCENARIOS["budget"]
    try:
        Opened(reached).call(scenario["operation"], scenario["params"]).rows(max_credits=scenario["max_credits"])
    except tapeline.CreditLimitError as error:
        return {
            "rows": len(error.rows),
            "credits": error.credits_used,
            "next_page_credits": error.next_page_credits,
        }
    raise AssertionError("it spent everything")


def run_webhook(reached: Dict[str, Any]) -> Dict[str, Any]:
    opened = Opened(reached)
    return {"id": opened.client.create_webhook(**SCENARIOS["webhook"])["id"], "credits": opened.credits}


def run_lists(reached: Dict[str, Any]) -> Dict[str, Any]:
    with ThreadPoolExecutor(24) as pool:
        # Half of them with the client whose methods are awaited.
        lists = [
            pool.submit(run_list_async if n % 2 else run_list, reached, scenario)
            for n, scenario in enumerate(SCENARIOS["lists"])
        ]
        objects = [pool.submit(run_object, reached, scenario) for scenario in SCENARIOS["objects"]]
        errors = [pool.submit(run_error, reached, scenario) for scenario in SCENARIOS["errors"]]
        budget = pool.submit(run_budget, reached)
        webhook = pool.submit(run_webhook, reached)
        return {
            "lists": [each.result() for each in lists],
            "objects": [each.result() for each in objects],
            "errors": [each.result() for each in errors],
            "budget": budget.result(),
            "webhook": webhook.result(),
            "request_ids": REQUEST_IDS,
        }


def stream_of(reached: Dict[str, Any], kind: Any, reconnects: List[None]) -> Any:
    return Opened(reached, kind).client.stream(
        kinds=SCENARIOS["stream"]["kinds"],
        addresses=[reached["address"]],
        resume_after=reached["resumeAfter"],
        on_reconnect=lambda: reconnects.append(None),
    )


def run_stream(reached: Dict[str, Any]) -> Dict[str, Any]:
    reconnects: List[None] = []
    events = []
    with stream_of(reached, tapeline.Client, reconnects) as stream:
        for event in stream:
            events.append(event)
            if event["kind"] == SCENARIOS["stream"]["last_kind"]:
                break
    return {"events": events, "reconnects": len(reconnects)}


def run_async_stream(reached: Dict[str, Any]) -> Dict[str, Any]:
    async def run() -> Dict[str, Any]:
        reconnects: List[None] = []
        events = []
        async with stream_of(reached, tapeline.AsyncClient, reconnects) as stream:
            async for event in stream:
                events.append(event)
                if event["kind"] == SCENARIOS["stream"]["last_kind"]:
                    break
        return {"events": events, "reconnects": len(reconnects)}

    return asyncio.run(run())


if __name__ == "__main__":
    run = {"lists": run_lists, "stream": run_stream, "async-stream": run_async_stream}[sys.argv[1]]
    print(json.dumps(run(json.loads(sys.argv[2]))))
