"""kill -9 of `tidemark up` and a start on the same data: the state is unchanged, and deletions in progress continue."""

import contextlib
import os
import sqlite3
import tempfile
import unittest
from pathlib import Path

from contract.cases.custom import CRDS, definition
from contract.client import Client, wait_until
from contract.memory import Memory

MAPS = "/api/v1/namespaces/default/configmaps"
GROUP = "restart.example.com"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/widgets"
DEPENDENTS = 1500
ROUNDS_MAX = 10
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class Restart(unittest.TestCase):
    def setUp(self):
        self.data = data = Path(tempfile.mkdtemp()) / "data"
        self.memory = Memory([os.environ["TIDEMARK_BINARY"], "up", "--pods=false", "--data-dir", str(data), "--listen", "127.0.0.1:0"], data)
        self.addCleanup(self.memory.kill)
        self.memory.start()
        self.connect()

    def connect(self):
        self.api = Client(self.memory.target)
        self.addCleanup(self.api.close)

    def restart(self):
        self.memory.kill()
        self.memory.start()
        self.connect()

    def made(self, answer) -> dict:
        self.assertEqual(201, answer.status, answer.body[:500])
        return answer.json

    def test_objects_are_kept_if_their_definition_was_stripped_of_its_finalizer(self):
        crd = definition(GROUP, schema=ANYTHING)
        self.made(self.api.post(CRDS, crd))
        widget = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "w", "finalizers": ["example.com/hold"]}, "spec": {"a": "1"}}
        self.made(self.api.post(WIDGETS, widget))
        path = f"{CRDS}/{crd['metadata']['name']}"
        self.assertEqual(200, self.api.delete(path).status)
        wait_until(lambda: self.api.get(f"{WIDGETS}/w").get("metadata.deletionTimestamp", None), what="the deletion timestamp of the widget")
        self.assertEqual(200, self.api.merge(path, {"metadata": {"finalizers": []}}).status)
        self.assertEqual(404, self.api.get(path).status)
        for _ in range(2):  # the second start uses the state of the first one
            self.restart()
            self.assertIn(f"widgets.{GROUP}", self.memory.log, "logged at the start")
            self.assertEqual(404, self.api.get(f"{WIDGETS}/w").status)
        self.made(self.api.post(CRDS, crd))
        held = self.api.get(f"{WIDGETS}/w")
        self.assertEqual((200, {"a": "1"}), (held.status, held.get("spec")))
        self.assertEqual(200, self.api.merge(f"{WIDGETS}/w", {"metadata": {"finalizers": None}}).status)
        self.restart()
        self.assertEqual((404, 200), (self.api.get(f"{WIDGETS}/w").status, self.api.get(path).status))
        self.assertNotIn(f"widgets.{GROUP}", self.memory.log)

    def test_an_object_with_a_missing_owner_stays(self):
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "elsewhere", "uid": "11111111-1111-4111-8111-111111111111"}
        self.made(self.api.post(MAPS, {"metadata": {"name": "a", "ownerReferences": [owner]}}))
        for _ in range(2):
            self.assertEqual(200, self.api.get(f"{MAPS}/a").status)
            self.restart()
        self.made(self.api.post(MAPS, {"metadata": {"name": "b"}}))
        self.assertEqual(200, self.api.get(f"{MAPS}/a").status)

    def test_remaining_dependents_are_collected_after_a_restart(self):
        """The kill races with the collector: a round counts if the file has dependents left but not their owner."""
        for attempt in range(ROUNDS_MAX):
            owner = self.made(self.api.post(MAPS, {"metadata": {"name": "owner"}}))
            reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
            for number in range(DEPENDENTS):
                self.api.transcript.clear()
                self.made(self.api.post(MAPS, {"metadata": {"name": f"d{number}", "ownerReferences": [reference]}, "data": {"v": "x" * 5000}}))
            self.assertEqual(200, self.api.delete(f"{MAPS}/owner").status)
            self.memory.kill()
            left = self.stored("configmaps")
            self.memory.start()
            self.connect()
            self.assertEqual(404, self.api.get(f"{MAPS}/owner").status)
            wait_until(lambda: not self.api.get(MAPS, limit="1")["items"], what=f"{left} dependents go")
            if left:
                break
        else:
            self.fail(f"in {ROUNDS_MAX} rounds the kill never came before the collector had finished")
        self.made(self.api.post(MAPS, {"metadata": {"name": "next"}}))
        self.memory.kill()
        self.assertEqual(0, self.stored("gone owners"), "the list of deleted owners is empty again")

    def test_a_fresh_server_has_its_managers_objects_and_reports_no_error(self):
        wait_until(lambda: "caches filled" in self.memory.log, what="the manager runs")
        self.assertEqual(200, self.api.get("/api/v1/namespaces/koordinator-system").status)
        revisions = "/api/v1/namespaces/koordinator-system/configmaps/tidemark-config-revisions"
        wait_until(lambda: self.api.get(revisions).status == 200, what="the stored settings in force")
        self.restart()
        wait_until(lambda: "caches filled" in self.memory.log, what="the manager to run again")
        self.assertNotRegex(self.memory.log, r" (WARN|ERROR) ")

    def stored(self, storage: str) -> int:
        with contextlib.closing(sqlite3.connect(self.data / "objects.sqlite")) as file:
            return file.execute("SELECT count(*) FROM objects WHERE storage = ?", (storage,)).fetchone()[0]


if __name__ == "__main__":
    unittest.main()
