"""Retries, errors, the cache of tags, and what is sent."""

from __future__ import annotations

import asyncio
import gzip
import json
import pickle
import threading
import time
import unittest
from datetime import datetime, timedelta, timezone
from typing import Any

import tapeline
from tapeline import _retry

from .stub_service import StubService

PAGE = {"data": [{"n": 1}], "meta": {"next_cursor": None, "coverage": None}}


def client(stub: StubService, **more: object) -> tapeline.Client:
    return tapeline.Client(stub.url, "svc_test_k", **{"timeout": 5, **more})  # type: ignore[arg-type]


class Retries(unittest.TestCase):
    def setUp(self) -> None:
        self._base = _retry.BASE_SECONDS
        _retry.BASE_SECONDS = 0.01

    def tearDown(self) -> None:
        _retry.BASE_SECONDS = self._base

    def test_waits_as_long_as_the_service_says(self) -> None:
        with StubService(lambda n, _: (429, {"Retry-After": "1"}, {}) if n == 0 else (200, {}, {"plan": "free"})) as stub:
            before = time.monotonic()
            client(stub).limits()
            self.assertGreaterEqual(time.monotonic() - before, 1)

    def test_a_wait_that_is_too_long_is_the_callers_decision(self) -> None:
        body = {"error": "rate_limited", "message": "Later.", "request_id": "req_1"}
        with StubService(lambda *_: (429, {"Retry-After": "3600"}, body)) as stub:
            with self.assertRaises(tapeline.RateLimitedError) as caught:
                client(stub).limits()
            self.assertEqual(caught.exception.retry_after, 3600)
            self.assertEqual(len(stub.asked), 1)

    def test_a_post_is_repeated_under_the_same_idempotency_key(self) -> None:
        with StubService(lambda n, _: None if n < 2 else (201, {}, {"id": "wh_1"})) as stub:
            client(stub).create_webhook(url="https://example.com", kinds=["block_added"])
            client(stub).create_webhook(url="https://example.com", kinds=["block_added"])
            keys = [asked.headers["idempotency-key"] for asked in stub.asked]
            self.assertEqual(keys[0], keys[2])
            self.assertNotEqual(keys[2], keys[3])
            self.assertEqual(json.loads(stub.asked[0].body), {"url": "https://example.com", "kinds": ["block_added"]})

    def test_of_the_calls_to_a_node_only_those_that_write_use_up_an_idempotency_key(self) -> None:
        def call(method: str) -> Any:
            return {"jsonrpc": "2.0", "id": 1, "method": method}

        with StubService(lambda n, _: None if n == 0 else (200, {}, [])) as stub:
            for body in (call("ping"), [call("ping"), call("getInfo")], call("submitBlock"), [call("ping"), call("submitTransaction")]):
                client(stub).rpc(body)
            has_key = ["idempotency-key" in asked.headers for asked in stub.asked]
            self.assertEqual(has_key, [False, False, False, True, True], "the first one is repeated all the same")

    def test_a_refusal_that_stays_is_not_asked_for_again_whatever_its_status(self) -> None:
        permanent = [(429, "batch_above_rate"), (429, "idempotency_quota"), (409, "reply_quota"), (409, "reply_too_large")]
        with StubService(lambda n, _: (permanent[n][0], {}, {"error": "x", "reason": permanent[n][1]})) as stub:
            for status, _ in permanent:
                with self.assertRaises(tapeline.ApiError) as caught:
                    client(stub).test_webhook("wh_1")
                self.assertEqual(caught.exception.status, status)
            self.assertEqual(len(stub.asked), len(permanent))

    def test_a_delete_whose_answer_was_lost_is_not_repeated(self) -> None:
        with StubService(lambda *_: None) as stub:
            with self.assertRaises(tapeline.ConnectionLost):
                client(stub).delete_webhook("wh_1")
            self.assertEqual(len(stub.asked), 1)
        with StubService(lambda n, _: (503, {}, {}) if n == 0 else (200, {}, {"deleted": True})) as stub:
            self.assertEqual(client(stub).delete_webhook("wh_1"), {"deleted": True})

    def test_an_answer_that_ends_early_is_no_answer(self) -> None:
        half = (200, {"Content-Length": "1000"}, b'{"plan":')
        with StubService(lambda n, _: half if n == 0 else (200, {}, {"plan": "free"})) as stub:
            self.assertEqual(client(stub).limits(), {"plan": "free"})
            self.assertEqual(len(stub.asked), 2)

    def test_an_answer_that_never_ends_runs_into_the_limit_and_is_asked_for_again(self) -> None:
        is_over = threading.Event()
        with StubService(lambda *_: is_over.wait() and None) as stub:
            with self.assertRaises(tapeline.ConnectionLost) as caught:
                client(stub, timeout=0.1, retries=1).limits()
            self.assertEqual(caught.exception.lost_attempts, 2)
            is_over.set()
        is_over.clear()
        reply = (200, {}, {"plan": "free"})
        with StubService(lambda n, _: is_over.wait() and None if n == 0 else reply) as stub:
            self.assertEqual(client(stub, timeout=0.5, retries=20).limits(), {"plan": "free"})
            is_over.set()

    def test_a_call_that_was_cancelled_sends_no_further_requests(self) -> None:
        is_asked, may_answer = threading.Event(), threading.Event()

        def refuse(*_: Any) -> tuple:
            is_asked.set()
            return (503, {"Retry-After": "30"}, {})

        def answer_late(n: int, _: Any) -> tuple:
            may_answer.clear()
            is_asked.set()
            may_answer.wait()
            return (200, {}, {"data": [], "meta": {"next_cursor": "more"}})

        async def cancelled(call: Any) -> None:
            waiting = asyncio.ensure_future(call)
            await asyncio.to_thread(is_asked.wait)
            is_asked.clear()
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting
            may_answer.set()

        before = time.monotonic()
        # `asyncio.run` waits for the threads.
        with StubService(refuse) as stub:
            asyncio.run(cancelled(tapeline.AsyncClient(stub.url, "k").limits()))
            self.assertEqual(len(stub.asked), 1)
        with StubService(answer_late) as stub:
            asyncio.run(cancelled(tapeline.AsyncClient(stub.url, "k").candles("BTC").rows()))
            self.assertEqual(len(stub.asked), 1)
        self.assertLess(time.monotonic() - before, 20)

    def test_closing_the_client_ends_the_wait_for_another_attempt(self) -> None:
        with StubService(lambda n, _: (503, {"Retry-After": "30"}, {}) if n == 0 else (200, {}, {"plan": "free"})) as stub:
            tl = client(stub)

            def close() -> None:
                while not tl._transport._pauses:
                    time.sleep(0.01)
                tl.close()

            threading.Thread(target=close, daemon=True).start()
            before = time.monotonic()
            with self.assertRaises(tapeline.ApiError):
                tl.limits()
            self.assertLess(time.monotonic() - before, 20)
            self.assertEqual(tl.limits(), {"plan": "free"}, "it can be used again")

    def test_refusals_are_not_repeated(self) -> None:
        body = {"error": "credits_exhausted", "message": "None left.", "request_id": "req_2", "resets_at": "x"}
        with StubService(lambda *_: (402, {}, body)) as stub:
            with self.assertRaises(tapeline.CreditsExhaustedError) as caught:
                client(stub).sources()
            self.assertEqual((caught.exception.status, caught.exception.request_id), (402, "req_2"))
            self.assertEqual(caught.exception.details["resets_at"], "x")
            self.assertEqual(len(stub.asked), 1)

    def test_an_error_of_json_rpc_has_its_number(self) -> None:
        body = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32020, "message": "No node is available."}}
        with StubService(lambda *_: (503, {"Retry-After": "0"}, body)) as stub:
            with self.assertRaisesRegex(tapeline.ApiError, "No node is available") as caught:
                client(stub, retries=2).rpc({"jsonrpc": "2.0", "id": 1, "method": "ping"})
            self.assertEqual(caught.exception.code, "-32020")
            self.assertEqual(len(stub.asked), 3)
        with StubService(lambda *_: (503, {}, [body])) as stub, self.assertRaises(tapeline.ApiError) as caught:
            client(stub, retries=0).rpc([{"jsonrpc": "2.0", "id": 1, "method": "ping"}])
        self.assertEqual((caught.exception.code, caught.exception.args[0]), ("-32020", "No node is available."))

    def test_an_unknown_refusal_is_an_error_all_the_same(self) -> None:
        with StubService(lambda *_: (418, {}, b"<html>teapot</html>")) as stub:
            with self.assertRaises(tapeline.ApiError) as caught:
                client(stub).sources()
            self.assertEqual((caught.exception.status, caught.exception.code), (418, "unknown"))


class Errors(unittest.TestCase):
    def test_a_redirect_is_refused_with_the_address_that_it_leads_to(self) -> None:
        with StubService(lambda *_: (308, {"Location": "https://data.example.com/v1/limits"}, b"")) as stub:
            with self.assertRaisesRegex(tapeline.ApiError, "redirects to https://data.example.com/v1/limits") as caught:
                client(stub).limits()
            self.assertEqual((caught.exception.status, len(stub.asked)), (308, 1))

    def test_a_success_that_is_not_json_is_an_error_of_the_client_and_is_not_kept(self) -> None:
        for data in (b"<html>Sign in</html>", b'{"data": [], "meta": {"next_cursor": ', b"\xff"):
            with StubService(lambda *_: (200, {"X-Request-Id": "req_3"}, data)) as stub:
                tl = client(stub)
                for call in (tl.limits, tl.candles("BTC").page, tl.candles("BTC").rows, tl.candles("BTC").cost):
                    with self.assertRaises(tapeline.UnreadableAnswerError) as caught:
                        call()
                    self.assertEqual((caught.exception.status, caught.exception.request_id), (200, "req_3"))
        sealed = {"ETag": '"a"', "Cache-Control": "immutable"}
        with StubService(lambda *_: (200, sealed, b"<html>")) as stub:
            tl = client(stub)
            for _ in range(2):
                with self.assertRaises(tapeline.TapelineError):
                    tl.limits()
            self.assertEqual(len(stub.asked), 2)

    def test_an_answer_that_cannot_be_unpacked_is_no_answer(self) -> None:
        packed = bytearray(gzip.compress(b'{"plan": "free"}' * 100))
        packed[10] = 0xFF  # the kind of its first block
        reply = (200, {"Content-Encoding": "gzip"}, bytes(packed))
        with StubService(lambda n, _: reply if n == 0 else (200, {}, {"plan": "free"})) as stub:
            self.assertEqual(client(stub).limits(), {"plan": "free"})

    def test_an_answer_names_the_address_that_was_asked(self) -> None:
        seen = []
        with StubService(lambda *_: (200, {}, {})) as stub:
            tapeline.Client(f"{stub.url}/base/", "k", on_answer=seen.append).limits()
            self.assertEqual([info.url for info in seen], [f"{stub.url}/base/v1/limits"])

    def test_all_have_one_base_and_can_be_sent_to_another_process(self) -> None:
        details = {"error": "rate_limited", "message": "Later.", "request_id": "req_1"}
        for error in (
            tapeline.RateLimitedError(429, details, 2.0),
            tapeline.ConnectionLost("No answer.", 3),
            tapeline.UnreadableAnswerError("Not JSON.", 200, "req_1"),
            tapeline.CreditLimitError([{"n": 1}], 53, 50, "c"),
            tapeline.StreamError(4401, "No key."),
            tapeline.StreamGapError({"after_seq": 1, "up_to_seq": 3, "reason": "retention"}),
            tapeline.WebhookSignatureError("Not ours."),
        ):
            with self.subTest(type(error).__name__):
                self.assertIsInstance(error, tapeline.TapelineError)
                other = pickle.loads(pickle.dumps(error))
                self.assertEqual((type(other), str(other), vars(other)), (type(error), str(error), vars(error)))


class Budgets(unittest.TestCase):
    def test_pages_stop_before_the_one_that_would_cost_too_much(self) -> None:
        def answer(_: int, asked: Any) -> tuple:
            if "dry_run" in asked.path:
                return (200, {}, {"dry_run": True, "credits": 53, "rows": 1})
            return (200, {"X-Credits-Used": "53"}, {"data": [{"n": 1}], "meta": {"next_cursor": "c1"}})

        with StubService(answer) as stub:
            found = []
            with self.assertRaises(tapeline.CreditLimitError) as caught:
                for page in client(stub).candles("BTC").pages(max_credits=110):
                    found.append(page.credits)
            self.assertEqual(found, [53, 53])
            self.assertEqual((caught.exception.credits_used, caught.exception.next_cursor), (106, "c1"))

            async def walk() -> None:
                async with tapeline.AsyncClient(stub.url, "svc_test_k") as tl:
                    async for page in tl.candles("BTC").pages(max_credits=60):
                        found.append(page.credits)

            with self.assertRaises(tapeline.CreditLimitError):
                asyncio.run(walk())
            self.assertEqual(found, [53, 53, 53])

    def test_rows_are_limited_only_where_the_list_has_such_a_parameter(self) -> None:
        def answer(_: int, asked: Any) -> tuple:
            if "dry_run" in asked.path:
                return (200, {}, {"dry_run": True, "credits": 25, "rows": 1})
            return (200, {"X-Credits-Used": "25"}, PAGE)

        with StubService(answer) as stub:
            client(stub).cexa_spot().rows(max_credits=30)
            client(stub).candles("BTC").rows(max_credits=30)
            paths = [asked.path for asked in stub.asked if "dry_run" not in asked.path]
            self.assertEqual(paths, ["/v1/cexa/spot", "/v1/candles?symbol=BTC&limit=1"])


class Requests(unittest.TestCase):
    def test_the_price_of_a_method_that_does_not_exist(self) -> None:
        with self.assertRaisesRegex(ValueError, "Did you mean 'candles'"):
            tapeline.Client("http://127.0.0.1:9", "svc_test_k").cost("candels", symbol="BTC")

    def test_times_flags_and_path_parameters(self) -> None:
        with StubService(lambda *_: (200, {}, PAGE)) as stub:
            at = datetime(2026, 6, 10, 14, tzinfo=timezone(timedelta(hours=2)))
            tl = client(stub)
            tl.snapshots("BTC", source="predmkt_a", start=at, end=datetime(2026, 6, 11), include_orderbook=True).page()
            tl.market("a/b ?")
            self.assertEqual(
                [asked.path for asked in stub.asked],
                [
                    "/v1/snapshots?source=predmkt_a&symbol=BTC&include_orderbook=true"
                    "&start=2026-06-10T12%3A00%3A00.000Z&end=2026-06-11T00%3A00%3A00.000Z",
                    "/v1/markets/a%2Fb%20%3F",
                ],
            )
            self.assertEqual(stub.asked[0].headers["x-api-key"], "svc_test_k")

    def test_a_fraction_of_a_second_or_millisecond_is_taken_wherever_a_time_is_given(self) -> None:
        with StubService(lambda *_: (200, {}, PAGE)) as stub:
            tl, start = client(stub), 1_780_000_000.25
            tl.candles("BTC", start=start, end=1_780_000_000_500.75).page()
            tl.cost("snapshots_at", symbol="BTC", source="perpdex", time=start)
            tl.liquidations("BTC", min_usd=0.5, start=1_780_000_000.0).page()
            self.assertEqual(
                [asked.path.split("?")[1] for asked in stub.asked],
                [
                    "symbol=BTC&start=2026-05-28T20%3A26%3A40.250Z&end=2026-05-28T20%3A26%3A40.500Z",
                    "symbol=BTC&source=perpdex&time=2026-05-28T20%3A26%3A40.250Z&dry_run=true",
                    "symbol=BTC&start=1780000000&min_usd=0.5",
                ],
            )

    def test_times_in_a_body(self) -> None:
        with StubService(lambda *_: (200, {}, {})) as stub:
            tl = client(stub)
            tl.replay_webhook("wh_1", since=datetime(2026, 6, 10), until=1_780_000_000.25)
            tl.replay_webhook("wh_1", since="2026-06-10", until=1_780_000_000)
            self.assertEqual(
                [json.loads(asked.body) for asked in stub.asked],
                [
                    {"since": "2026-06-10T00:00:00.000Z", "until": "2026-05-28T20:26:40.250Z"},
                    {"since": "2026-06-10", "until": 1_780_000_000},
                ],
            )

    def test_large_integers_and_packed_answers(self) -> None:
        text = b'{"fee_sompi": 2870000000000000001}'
        with StubService(lambda *_: (200, {"Content-Encoding": "gzip"}, gzip.compress(text))) as stub:
            self.assertEqual(client(stub).transaction("ab")["fee_sompi"], 2870000000000000001)

    def test_an_unchanged_page_is_asked_for_with_its_tag_and_a_sealed_one_not_at_all(self) -> None:
        with StubService(lambda n, _: (304, {"ETag": '"a"'}, b"") if n else (200, {"ETag": '"a"'}, PAGE)) as stub:
            tl = client(stub)
            pages = [tl.candles("BTC").page() for _ in range(2)]
            self.assertEqual([page.from_cache for page in pages], [False, True])
            self.assertEqual(pages[0].rows, pages[1].rows)
            self.assertEqual(stub.asked[1].headers["if-none-match"], '"a"')
        sealed = {"ETag": '"b"', "Cache-Control": "private, max-age=31536000, immutable"}
        with StubService(lambda *_: (200, sealed, PAGE)) as stub:
            tl = client(stub)
            self.assertEqual([tl.candles("BTC").page().rows for _ in range(3)], [PAGE["data"]] * 3)
            self.assertEqual(len(stub.asked), 1)
            uncached = client(stub, cache_bytes=0)
            uncached.candles("BTC").page()
            uncached.candles("BTC").page()
            self.assertEqual(len(stub.asked), 3)

    def test_gaps_of_several_pages_are_joined(self) -> None:
        def gap(start: str, end: str) -> dict:
            return {"source": "cexa", "from": start, "to": end, "reason": "venue_down"}

        def page(gaps: list, cursor: object) -> tuple:
            return (200, {}, {"data": [{"n": 1}], "meta": {"coverage": {"gaps": gaps}, "next_cursor": cursor}})

        with StubService(
            lambda n, _: page([gap("t1", "t2")], "c") if n == 0 else page([gap("t2", "t3"), gap("t5", "t6")], None)
        ) as stub:
            rows = client(stub).candles("BTC")
            self.assertEqual(rows.gaps, [gap("t1", "t3"), gap("t5", "t6")])
            self.assertEqual(len(rows.rows()), 2)
            self.assertEqual(len(stub.asked), 2, "read once")


if __name__ == "__main__":
    unittest.main()
