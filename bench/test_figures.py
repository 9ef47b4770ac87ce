"""The ledger of figures, and the pages that are made from it."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from bench import figures
from bench.runner import commit, machine


class Figures(unittest.TestCase):
    ENTRY = {
        "figure": "kube.list_ms", "value": 29.4, "unit": "ms", "n": 10, "spread": [28.9, 31.0], "command": "./dev bench kube",
        "commit": "abc", "machine": "2 × X", "date": "2026-01-01T00:00:00Z",
    }

    def test_good_entry(self):
        self.assertEqual("", figures.problem(self.ENTRY))

    def test_an_aim_is_met_missed_or_between(self):
        entry = {**self.ENTRY, "value": 10, "spread": [8, 12]}
        for must, wanted in (
            ("<= 12", "met"), ("< 12", "met by the median only"), ("<= 10", "met by the median only"), ("< 10", "**missed**"),
            (">= 8", "met"), (">= 9", "met by the median only"), (">= 11", "**missed**"),
        ):
            with self.subTest(must):
                self.assertEqual(wanted, figures.verdict(entry, must))

    def test_the_pages_of_figures_are_held_in_step(self):
        root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        aim = {"headline": True, "figure": "kube.list_ms", "aim": "quick", "must": "<= 30", "configuration": "as shipped"}
        for folder in ("bench", "docs"):
            (root / folder).mkdir()
        (root / figures.LEDGER).write_text(json.dumps(self.ENTRY) + "\n")
        (root / figures.AIMS).write_text(json.dumps({"about": "x", "aims": [aim]}))
        self.assertEqual([f"{page}: is not what {figures.LEDGER} says: ./dev bench tables" for page in (figures.TABLE, figures.ALL)], figures.out_of_step(root))
        with mock.patch.object(figures, "_is_old", lambda root, commit: True):
            for page, text in figures.pages(root, [self.ENTRY]).items():
                (root / page).write_text(text)
        with mock.patch.object(figures, "_is_old", lambda root, commit: False):
            self.assertEqual([], figures.out_of_step(root), "the mark of age is not compared")
        row = "| kube.list_ms | quick | met by the median only | as shipped | 29.4 ms (28.9 … 31) | 10 | `./dev bench kube` | abc (old) |"
        self.assertIn(row, (root / figures.TABLE).read_text().splitlines())
        (root / figures.AIMS).write_text(json.dumps({"aims": [{**aim, "figure": "kube.other"}]}))
        self.assertIn("| kube.other | quick | not measured | as shipped | – | – | – | – |", figures.pages(root, [self.ENTRY])[figures.TABLE])
        (root / figures.AIMS).write_text(json.dumps({"aims": [{**aim, "headline": False}]}))
        self.assertNotIn(row, figures.pages(root, [self.ENTRY])[figures.TABLE])
        self.assertIn("kube.list_ms | quick", figures.pages(root, [self.ENTRY])[figures.ALL])
        (root / figures.AIMS).write_text(json.dumps({"aims": [{**aim, "figure": "kube.gone", "must": "about 3"}] * 26}))
        self.assertEqual(1 + 26, len(figures.out_of_step(root)), figures.out_of_step(root))

    def test_a_figure_is_old_after_200_commits(self):
        for commits, old in (("200", False), ("201", True)):
            counted = subprocess.CompletedProcess([], 0, commits)
            with mock.patch.object(figures.subprocess, "run", lambda *_, **__: counted):
                self.assertEqual(old, figures._is_old(Path(), "abc-dirty"))

    def test_a_figure_that_was_measured_by_hand_is_reported(self):
        by_hand = {**self.ENTRY, "command": "PYTHONPATH=tests python3 bench/kube/run.py"}
        self.assertEqual(1, len(figures.commands_by_hand([self.ENTRY, by_hand])))
        self.assertEqual([], figures.commands_by_hand([by_hand, self.ENTRY]), "the latest line counts")

    def test_bad_entries(self):
        for name, value in {"value": "29", "n": 0, "spread": [30, 31], "figure": "list", "commit": None, "more": 1}.items():
            with self.subTest(name):
                self.assertNotEqual("", figures.problem({**self.ENTRY, name: value}))
        self.assertNotEqual("", figures.problem({k: v for k, v in self.ENTRY.items() if k != "commit"}))

    def test_table_shows_the_latest_of_each(self):
        text = figures.pages(Path("/nonexistent"), [self.ENTRY, {**self.ENTRY, "value": 20.0, "spread": [19, 21]}, {**self.ENTRY, "figure": "net.rps", "value": 12345, "spread": [1, 20000]}])[figures.ALL]
        self.assertIn("| list_ms | 20 ms (19 … 21) |", text)
        self.assertNotIn("29.4", text)
        self.assertIn("12,345", text)

    def test_where_a_figure_comes_from(self):
        self.assertRegex(commit(), r"^[0-9a-f]{12}(-dirty)?$")
        self.assertRegex(machine(), r"^\d+ × .+, \d+ GiB, Linux \d")


if __name__ == "__main__":
    unittest.main()
