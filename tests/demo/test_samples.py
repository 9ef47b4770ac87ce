"""The sample cluster is one that could exist, and the client that writes it says what went wrong."""

import http.server
import json
import tempfile
import threading
import unittest
from pathlib import Path

from demo import docs_world, samples
from driver.console import Failed


def items() -> list[dict]:
    return [item for file in sorted(samples.SAMPLES.glob("*.json")) for item in json.loads(file.read_text())["items"]]


def milli(cpu: str) -> int:
    return int(cpu[:-1]) if cpu.endswith("m") else int(cpu) * 1000


class Samples(unittest.TestCase):
    def test_pods_and_metrics_are_of_nodes_that_are_there(self):
        found = items()
        nodes = {i["metadata"]["name"] for i in found if i["kind"] == "Node"}
        self.assertGreaterEqual(len(nodes), 3)
        self.assertEqual(nodes, {i["metadata"]["name"] for i in found if i["kind"] == "NodeMetric"})
        pods = {i["metadata"]["name"]: i["spec"]["nodeName"] for i in found if i["kind"] == "Pod"}
        self.assertLessEqual(set(pods.values()), nodes)
        for item in found:
            if item["kind"] == "NodeMetric":
                for pod in item["status"]["podsMetric"]:
                    self.assertEqual(item["metadata"]["name"], pods[pod["name"]])

    def test_a_node_uses_what_its_pods_and_its_system_use(self):
        for item in items():
            if item["kind"] == "NodeMetric":
                status = item["status"]
                parts = [status["nodeMetric"]["systemUsage"], *(pod["podUsage"] for pod in status["podsMetric"])]
                total = sum(milli(part["resources"]["cpu"]) for part in parts)
                self.assertEqual(milli(status["nodeMetric"]["nodeUsage"]["resources"]["cpu"]), total, item["metadata"]["name"])


class DocsWorld(unittest.TestCase):
    def test_the_settings_that_the_page_shows_are_found(self):
        self.assertIn("schema: 1\n", docs_world.shown_settings(docs_world.SETTINGS_PAGE.read_text()))
        with self.assertRaises(Failed):
            docs_world.shown_settings("```yaml\nschema: 1\n```\n")

    def test_every_sample_has_a_place_to_be_taken_from(self):
        self.assertEqual(len(items()), len(set(samples.sample_paths())))


class Server(http.server.BaseHTTPRequestHandler):
    answers: dict[str, int] = {}
    seen: list[tuple[str, str, str]] = []

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.seen.append((self.command, self.path, self.headers.get("Authorization", "")))
        self.send_response(self.answers.get(f"{self.command} {self.path}", 200))
        self.end_headers()
        self.wfile.write(b'{"message": "because"}')

    do_GET = do_POST = do_PATCH = answer

    def log_message(self, *_):
        pass


class Client(unittest.TestCase):
    def setUp(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        Server.answers, Server.seen = {}, []
        folder = self.enterContext(tempfile.TemporaryDirectory())
        kubeconfig = Path(folder) / "kubeconfig"
        kubeconfig.write_text(f"clusters:\n- cluster:\n    server: http://127.0.0.1:{server.server_port}\nusers:\n- user:\n    token: secret\n")
        self.api = samples.Api(kubeconfig)

    def test_object_then_status_with_the_token(self):
        samples.create(self.api, {"kind": "Node", "metadata": {"name": "n"}, "status": {"a": 1}})
        self.assertEqual(
            [("POST", "/api/v1/nodes", "Bearer secret"), ("PATCH", "/api/v1/nodes/n/status", "Bearer secret")], Server.seen
        )

    def test_what_is_there_already_stays(self):
        Server.answers = {"POST /api/v1/namespaces": 409}
        samples.create(self.api, {"kind": "Namespace", "metadata": {"name": "n"}})

    def test_reports_a_refusal_with_its_reason(self):
        Server.answers = {"POST /api/v1/namespaces": 422}
        with self.assertRaises(Failed) as raised:
            samples.create(self.api, {"kind": "Namespace", "metadata": {"name": "n"}})
        self.assertIn("422 because", str(raised.exception))

    def test_kubeconfig_without_a_server(self):
        with tempfile.NamedTemporaryFile("w") as file:
            with self.assertRaises(Failed):
                samples.Api(Path(file.name))


if __name__ == "__main__":
    unittest.main()
