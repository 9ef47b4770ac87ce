"""This version takes over what the previous version left on a cluster (tests/golden/previous, written by its binary)."""

import datetime
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from cluster import colocation, history, previous
from cluster.colocation import must
from cluster.manager_case import WithManager
from cluster.test_manager import amounts
from cluster.test_swap import Watched, numbers
from cluster.tidemark_process import Component, wait_for

EPOCH = "tidemark.io/capacity-epoch"


def tidemark(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([os.environ["TIDEMARK_BINARY"], *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


class TakenOver(WithManager):
    whys = ("a disk is changed", "only looked at", "not yet", "a fire drill", "a long drain")

    def setUp(self):
        previous.take_away(self.api)
        self.addCleanup(previous.take_away, self.api)
        self.objects, self.recorded = previous.recorded()
        self.nodes = previous.names(self.objects)
        previous.put_back(self.api, self.objects)
        self.journal = Path(tempfile.mkdtemp(prefix="tidemark-previous-"))
        self.addCleanup(shutil.rmtree, self.journal, True)
        for segment in (previous.GOLDEN / previous.COMMIT / "journal").glob("*.tmj"):
            shutil.copy(segment, self.journal)
        for node in self.nodes:  # their agents continue to report
            previous.report(self.api, node)

    def nodes_now(self) -> tuple[dict[str, dict], str]:
        listed = must(self.api.request("GET", "/api/v1/nodes"))
        return {each["metadata"]["name"]: each for each in listed["items"] if each["metadata"]["name"] in self.nodes}, listed["metadata.resourceVersion"]

    def take_over(self, before: dict[str, dict]) -> Component:
        component = previous.run(os.environ["TIDEMARK_BINARY"], self.journal)
        self.addCleanup(component.stop)

        def written() -> bool:
            now, _ = self.nodes_now()
            return all(int(now[name]["metadata"]["annotations"][EPOCH]) > int(before[name]["metadata"]["annotations"][EPOCH]) for name in previous.SELLS)

        wait_for(written, "the next epoch on every node that sells", component)
        previous.wait_settled(component)
        return component

    def shown(self, *words: str) -> dict:
        done = tidemark(*words, "-o", "json", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"])
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def test_no_number_moves_and_nothing_is_lost(self):
        before, version = self.nodes_now()
        wanted = {name: numbers(node) for name, node in before.items()}
        for name in previous.SELLS:
            self.assertGreater(wanted[name]["allocatable"]["kubernetes.io/batch-cpu"], 0, "the recording sells something")
        specs = previous.specs(self.api, self.nodes)
        watched = Watched(version)
        self.addCleanup(watched.close)
        component = self.take_over(before)
        watched.close()
        for event in watched.seen:
            name = event["object"]["metadata"]["name"]
            if name in wanted:
                self.assertEqual(wanted[name], numbers(event["object"]), f"a number of {name} moved")
        self.assertEqual(specs, previous.specs(self.api, self.nodes), "the NodeSLOs of the agents")

        wanted_metrics = {
            "tidemark_manager_state_good": 1, "tidemark_manager_config_good": 1, "tidemark_settings_revision": 2, "tidemark_settings_nodes_behind": 0,
            "tidemark_settings_held": 0, 'tidemark_override_cpu_percent{pool="web"}': 50,
            'tidemark_history_records{component="profiles"}': 1, 'tidemark_history_refused_total{component="profiles"}': 0,
            'tidemark_history_refused_total{component="least"}': 0,
            'tidemark_pool_breaker_phase{pool="spike"}': 1, "tidemark_budgets_held": 0, 'tidemark_history_records{component="least"}': 1,
            'tidemark_pool_jobs_exhausted{pool="spike"}': 1,
        }
        found = {}

        def as_left() -> bool:
            shown = component.metrics()
            found.update({name: shown.get(name) for name in wanted_metrics})
            return found == wanted_metrics

        try:
            wait_for(as_left, "the restored state in the metrics", component)
        except AssertionError:
            self.assertEqual(wanted_metrics, found)
        self.assertEqual([], re.findall(r"^\S+ ERROR .*", component.log, re.M))

        revisions = self.shown("list", "revisions")
        self.assertEqual([1, 2], [each["number"] for each in revisions["revisions"]])
        self.assertEqual(len(self.nodes), self.shown("explain", "workload", "default/Deployment/web")["podsNow"])
        states = tidemark("report", "states", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]).stdout
        for why in self.whys:
            self.assertIn(why, states)
        wanted_words = self.words({each["metadata"]["name"]: each for each in self.objects["/api/v1/nodes"]})
        self.assertIsNotNone(wanted_words["previous-draining"][1])
        self.assertTrue(wanted_words["previous-oversold"][2])
        self.assertEqual(wanted_words, self.words(self.nodes_now()[0]))
        pools = {pool["pool"]: pool for pool in self.shown("report", "budgets")["pools"]}
        self.assertEqual("open", pools["spike"]["breaker"]["phase"])
        recommended = previous.everything(self.api)[previous.RECOMMENDATIONS]
        self.assertEqual([each["status"]["podStatus"] for each in self.objects[previous.RECOMMENDATIONS]], [each["status"]["podStatus"] for each in recommended])

        # This version lifts an order of the previous version.
        lifted = tidemark("on", "node", "previous-off", "--reason=done", "--by=ann@ops", "--yes", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"])
        self.assertEqual(0, lifted.returncode, lifted.stderr)
        wait_for(lambda: amounts(colocation.offered(self.api, "previous-off")) == wanted["previous-plain"]["allocatable"], "the node to sell again", component)

    def words(self, nodes: dict[str, dict]) -> dict:
        """What YARN's operator and Kubernetes' scheduler read; the generation of an offer depends on its writer."""
        found = {}
        for name in previous.YARN:
            notes = nodes[name]["metadata"]["annotations"]
            found[name] = (amounts(json.loads(notes[previous.OFFER])["resources"]), previous.drain_of(notes), previous.OVERSOLD in notes, [each["key"] for each in nodes[name]["spec"].get("taints", [])])
        return found

    def test_its_journal_is_shown_and_replayed(self):
        end = self.recorded
        for node in previous.SELLS:
            done = tidemark("explain", "node", node, "--at", end, "--journal-dir", str(self.journal), "-o", "json")
            self.assertEqual(0, done.returncode, done.stderr)
            found = amounts(self.node_of(node)["status"]["allocatable"])["kubernetes.io/batch-cpu"]
            shown = json.loads(done.stdout)
            self.assertIn(f"the node was to carry batch-cpu {found}", " ".join(shown["notes"]))
        done = tidemark("replay", "--journal-dir", str(self.journal), "-o", "json")
        report = json.loads(done.stdout)
        self.assertEqual((1, 0, previous.OTHERWISE), (done.returncode, report["unreadable"], previous.otherwise(report)), done.stdout)
        self.assertGreaterEqual(report["decisions"], len(previous.SELLS))

    def node_of(self, name: str) -> dict:
        return next(each for each in self.objects["/api/v1/nodes"] if each["metadata"]["name"] == name)


class AnyDate(unittest.TestCase):
    """A restored recording looks as if it had ended now, on any day."""

    def test_a_profile_is_within_its_week_and_counts_within_their_day(self):
        end = json.loads((previous.GOLDEN / previous.COMMIT / "objects.json").read_text())["recorded"]
        begun = datetime.datetime.strptime(end, "%Y-%m-%dT%H:%M:%SZ")
        for later in (*range(15), 400, 4000):
            now = begun + datetime.timedelta(days=later, seconds=17)
            objects, _ = previous.recorded(now)
            today = int(now.replace(tzinfo=datetime.timezone.utc).timestamp()) // 86400
            maps = {each["metadata"]["name"]: each.get("data", {}) for each in objects[colocation.SETTINGS]}
            profiles = [text for name in colocation.PROFILES for text in maps[name].values()]
            self.assertTrue(profiles)
            for text in profiles:
                last_day = self.last_day(text)
                self.assertTrue(today - previous.PROFILE_DAYS < last_day <= today, f"{later} days later: {last_day} of {today}")
            counts = json.loads(maps.get(colocation.BUDGETS, {}).get("counts.json", "{}"))
            for slot, *_ in (slot for series in counts.get("classes", []) for slot in series["slots"]):
                self.assertTrue(today * 144 - 144 < slot <= today * 144 + 144, f"{later} days later: {slot}")

    def last_day(self, text: str) -> int:
        body = history.opened(text)
        at = history.content_at(body)
        return int.from_bytes(body[at : at + 8], "little")


if __name__ == "__main__":
    unittest.main()
