"""Deliveries that the service signed; TAPELINE_SIGNED holds them."""

from __future__ import annotations

import json
import os
import unittest

import tapeline

SIGNED = json.loads(os.environ.get("TAPELINE_SIGNED", "null"))


@unittest.skipUnless(SIGNED, "run by test/clients/python.test.ts, which has the service sign deliveries")
class Verify(unittest.TestCase):
    def verify(self, **more: object) -> list:
        given = {"headers": SIGNED["headers"], "body": SIGNED["body"].encode(), "secret": SIGNED["current"], **more}
        headers, body, secret = given.pop("headers"), given.pop("body"), given.pop("secret")
        return tapeline.verify_webhook(headers, body, secret, **{"now": SIGNED["timestamp"], **given})

    def test_an_event_and_a_batch(self) -> None:
        self.assertEqual(self.verify(), [json.loads(SIGNED["body"])])
        batch = SIGNED["batch"]
        self.assertEqual(len(self.verify(headers=batch["headers"], body=batch["body"])), 2)

    def test_either_secret_during_a_rotation(self) -> None:
        self.assertEqual(len(self.verify(secret=SIGNED["previous"])), 1)
        upper = {name.upper(): value for name, value in SIGNED["headers"].items()}
        self.assertEqual(len(self.verify(headers=upper)), 1)

    def test_anything_else_is_refused(self) -> None:
        headers = SIGNED["headers"]
        missing = {name: value for name, value in headers.items() if name != "webhook-signature"}
        cases = [
            {"body": SIGNED["body"].encode() + b" "},
            {"secret": SIGNED["other"]},
            {"now": SIGNED["timestamp"] + 301},
            {"now": SIGNED["timestamp"] - 301},
            {"headers": missing},
            {"headers": {**headers, "webhook-id": "dlv_2"}},
            {"headers": {**headers, "webhook-timestamp": str(SIGNED["timestamp"] + 1)}},
            {"headers": {**headers, "webhook-signature": "v1,AAAA v2,x"}},
        ]
        for case in cases:
            with self.subTest(case), self.assertRaises(tapeline.WebhookSignatureError):
                self.verify(**case)
        with self.assertRaises(ValueError):
            self.verify(secret="whsec_")


if __name__ == "__main__":
    unittest.main()
