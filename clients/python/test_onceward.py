"""Against a real server before the bundled provider: ONCEWARD_URL and SIM_URL name them."""

import json
import os
import unittest
import urllib.parse
import urllib.request
import uuid

from onceward import Client, OncewardError, guard, is_final

BASE = os.environ["ONCEWARD_URL"]


def effects(reference: str) -> int:
    with urllib.request.urlopen(os.environ["SIM_URL"] + "/effects?reference=" + urllib.parse.quote(reference, safe="")) as response:
        return json.load(response)["count"]


class LosingClient(Client):
    """Loses the first answers after they were made."""

    lose = 2

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.bodies = []
        opened = self._open

        def losing(request, timeout):
            self.bodies.append(request.data)
            response = opened(request, timeout=timeout)
            if self.lose > 0:
                self.lose -= 1
                response.close()
                raise ConnectionResetError("the connection was cut")
            return response

        self._open = losing


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.client = Client(BASE)
        self.event = str(uuid.uuid4())

    def create(self, client=None, **fields):
        return (client or self.client).call("tickets.create", {"source": "py", "event_id": self.event, "subject": "It broke", **fields})

    def test_the_same_intention_in_other_words_is_one_ticket(self):
        first, again = self.create(), self.create(subject="Broken, in other words")
        self.assertEqual((first.operation["state"], first.decision, again.decision), ("succeeded", "fresh", "replayed"))
        self.assertEqual(first.operation["id"], again.operation["id"])
        self.assertEqual(effects("py/" + self.event), 1)

    def test_a_lost_answer_is_asked_for_again_under_the_same_bytes(self):
        client = LosingClient(BASE, backoff=0.001)
        self.assertEqual(self.create(client).decision, "replayed")
        self.assertEqual((len(client.bodies), len(set(client.bodies))), (3, 1))
        self.assertEqual(effects("py/" + self.event), 1)

    def test_errors_are_told_apart_by_code(self):
        self.create(priority="normal")
        with self.assertRaises(OncewardError) as caught:
            self.create(priority="urgent")
        self.assertEqual((caught.exception.code, caught.exception.status, caught.exception.retryable), ("key_reused", 422, False))
        self.assertIn("priority", str(caught.exception))
        with self.assertRaises(OncewardError) as caught:
            self.client.call("no.such.tool", {})
        self.assertEqual(caught.exception.code, "tool_not_found")
        with self.assertRaises(OncewardError) as caught:
            Client("http://127.0.0.1:1", retries=0).call("tickets.create", {})
        self.assertEqual((caught.exception.code, caught.exception.retryable), ("unreachable", True))

    def test_submit_get_and_wait_speak_of_one_operation(self):
        answer = self.client.submit({"tool": "tickets.create", "input": {"source": "py", "event_id": self.event, "subject": "Wait"}, "wait": "0s"})
        operation = self.client.wait(answer.operation["id"], timeout=20)
        self.assertTrue(is_final(operation))
        self.assertEqual(operation["state"], "succeeded")
        self.assertEqual(self.client.get(operation["id"])["reference"], operation["reference"])

    def test_a_guarded_function_keeps_its_face_and_makes_one_ticket(self):
        ran = []

        @guard(self.client, "tickets.create", context={"source": "py", "event_id": self.event})
        def create_ticket(subject: str) -> str:
            """Open a ticket."""
            ran.append(subject)

        said = [json.loads(create_ticket(subject=words)) for words in ("It broke", "Broken, in other words")]
        self.assertEqual((create_ticket.__name__, create_ticket.__doc__, ran), ("create_ticket", "Open a ticket.", []))
        self.assertEqual([s["status"] for s in said], ["succeeded", "succeeded"])
        self.assertEqual((said[0]["operation"], said[1]["replayed"]), (said[1]["operation"], True))
        self.assertEqual(effects("py/" + self.event), 1)
        self.assertEqual(json.loads(guard(self.client, "no.such.tool")(create_ticket.__wrapped__)(subject="x"))["code"], "tool_not_found")


if __name__ == "__main__":
    unittest.main()
