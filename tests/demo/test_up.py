"""Arguments, directory, output and drawing of ./dev up; the example itself runs in the group `cluster`."""

import contextlib
import dataclasses
import io
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path
from unittest import mock

from demo import up
from driver.console import Failed, WrongUse
from demo import measure, on_yarn, plot, show, table
from support import owners

WINDOW = '{"from_us":10000000,"to_us":14000000,'
LINE = '{"answers":%d,"failures":%d,"unanswered":0,"p50_us":600.5,"p90_us":900,"p99_us":2500,"p999_us":12000,"max_us":20000,"late_p99_us":1,"late_p999_us":1}\n'
OUTPUT = '{"second":0,' + (LINE % (5, 0))[1:] + '{"second":1,' + (LINE % (4, 1))[1:] + WINDOW + (LINE % (9, 1))[1:]


def measured(text: str = OUTPUT, busy: float = 0.0, batch_cores: float = 0.0) -> measure.Measured:
    return dataclasses.replace(measure.read(text), busy=busy, batch_cores=batch_cores)


class WayIn(unittest.TestCase):
    def test_the_kubectl_that_is_there_is_named(self):
        self.assertEqual("export KUBECONFIG=/d/kubeconfig\n/c/kubectl get nodes", up.way_in(Path("/d/kubeconfig"), Path("/c/kubectl")))

    def test_where_there_is_none_it_says_so_and_where_one_comes_from(self):
        text = up.way_in(Path("/d/kubeconfig"), None)
        self.assertIn("There is no kubectl here", text)
        self.assertIn("./dev cluster start", text)
        self.assertNotIn("get nodes", text)


class Flags(unittest.TestCase):
    def test_with_an_equals_sign_and_without(self):
        for words in (["--seconds=7", "--listen=127.0.0.1:1", "--once"], ["--once", "--seconds", "7", "--listen", "127.0.0.1:1"]):
            options = up.parse(words)
            self.assertEqual((7, "127.0.0.1:1", True, False), (options.seconds, options.listen, options.once, options.stop))

    def test_what_is_wrong_is_named(self):
        for words, said in {
            ("--sconds", "3"): "unknown flag `--sconds`", ("--once=yes",): "unknown flag `--once=yes`", ("--listen",): "`--listen` wants a value",
            ("--seconds", "1"): "from 2 to 3600, found `1`", ("--seconds=soon",): "found `soon`", ("--yarn=3",): "unknown flag `--yarn=3`",
            ("--yarn", "--samples"): "one of both",
        }.items():
            with self.subTest(words), self.assertRaises(WrongUse) as raised:
                up.parse(list(words))
            self.assertIn(said, str(raised.exception))


class Folder(unittest.TestCase):
    def setUp(self):
        self.data = Path(self.enterContext(tempfile.TemporaryDirectory())) / "up"

    def test_it_is_ours_while_the_block_runs_and_gone_after_it(self):
        with up._ours(self.data):
            self.assertEqual(0o700, self.data.stat().st_mode & 0o777)
            (self.data / "web").mkdir()
            with self.assertRaises(Failed) as raised, up._ours(self.data):
                pass
            self.assertIn("runs already", str(raised.exception))
        self.assertFalse(self.data.exists())

    def test_the_drawing_stays(self):
        with up._ours(self.data):
            up.plot_file(self.data).write_text("<svg/>")
        self.assertEqual([up.plot_file(self.data)], list(self.data.iterdir()))
        with up._ours(self.data):
            self.assertFalse(up.plot_file(self.data).exists(), "that of another run")
            up.plot_file(self.data).write_text("<svg/>")
        with mock.patch.object(up, "DATA", self.data), up._ours(self.data):
            self.assertFalse(up.plot_file(self.data).exists())

    def test_stop_keeps_the_drawing_and_says_what_it_could_not_take_away(self):
        with up._ours(self.data):
            up.plot_file(self.data).write_text("<svg/>")
            kept = (self.data / owners.MARK).read_text().split()
        (self.data / owners.MARK).write_text(" ".join([kept[0], "1", *kept[2:]]))  # of one that is gone
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            self.assertEqual(0, up.stop(self.data))
        self.assertIn(f"nothing of it is left but the drawing, {up.plot_file(self.data)}", out.getvalue())
        self.assertEqual([up.plot_file(self.data)], list(self.data.iterdir()))
        (self.data / owners.MARK).write_text(" ".join([kept[0], "1", *kept[2:]]))
        with mock.patch.object(up.leftovers, "clear_away", return_value=([], ["process 7: java"])), self.assertRaises(Failed) as raised:
            up.stop(self.data)
        self.assertIn("process 7: java", str(raised.exception))

    def test_how_to_end_it_names_its_folder(self):
        self.assertEqual("./dev up --stop", up.stop_command(up.DATA))
        self.assertEqual(f"./dev up --stop --data-dir {self.data}", up.stop_command(self.data))

    def test_what_one_that_was_killed_has_left_is_taken_away(self):
        self.data.mkdir()
        mark = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r}); from pathlib import Path; from support import owners; owners.mark(Path({str(self.data)!r}))"
        subprocess.run([sys.executable, "-c", mark], check=True, stdin=subprocess.DEVNULL)
        (self.data / "objects.sqlite").touch()
        self.assertEqual(0, up.stop(self.data))
        self.assertFalse(self.data.exists())

    def test_a_directory_with_other_files_is_left_alone(self):
        self.data.mkdir()
        (self.data / "thesis.txt").touch()
        with self.assertRaises(Failed), up._ours(self.data):
            pass
        self.assertEqual(0, up.stop(self.data))
        self.assertTrue((self.data / "thesis.txt").exists())

    def test_a_signal_ends_it_in_order(self):
        with up._ours(self.data):
            os.kill(os.getpid(), 15)
            self.fail("the block goes on")
        self.assertFalse(self.data.exists())

    def test_an_owner_that_lives_is_asked_to_end(self):
        self.data.mkdir()
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdin=subprocess.DEVNULL)
        self.addCleanup(child.kill)
        (self.data / owners.MARK).write_text(f"{child.pid} {owners._started(child.pid)} {owners._namespace()}")
        self.assertEqual(0, up.stop(self.data), "though its parent process has not read how it ended")
        self.assertEqual(-15, child.wait())
        self.assertFalse(self.data.exists())

    def stranger(self) -> subprocess.Popen:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdin=subprocess.DEVNULL)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def test_a_number_that_is_a_strangers_by_now_is_left_alone(self):
        child = self.stranger()
        self.data.mkdir()
        (self.data / owners.MARK).write_text(f"{child.pid} 1 {owners._namespace()}")
        self.assertEqual(0, up.stop(self.data))
        self.assertIsNone(child.poll())
        self.assertFalse(self.data.exists(), "the process that had it is gone")

    def test_a_process_without_a_valid_mark_is_not_ended(self):
        child = self.stranger()
        started = owners._started(child.pid)
        for mark in ("", "12", f"{child.pid}", f"{child.pid} {started}", f"{child.pid} {started} pid:[1]", f"x {started} {owners._namespace()}"):
            with self.subTest(mark):
                self.data.mkdir(exist_ok=True)
                (self.data / owners.MARK).write_text(mark)
                with self.assertRaises(Failed) as raised:
                    up.stop(self.data)
                self.assertIn("remove the directory", str(raised.exception))
                with self.assertRaises(Failed), up._ours(self.data):
                    pass
                self.assertIsNone(child.poll())
                self.assertEqual([self.data / owners.MARK], list(self.data.iterdir()), "and nothing is taken away")

    def test_another_users_is_left_alone(self):
        child = self.stranger()
        self.data.mkdir()
        (self.data / owners.MARK).write_text(f"{child.pid} {owners._started(child.pid)} {owners._namespace()}")
        with mock.patch.object(os, "geteuid", return_value=os.geteuid() + 1), self.assertRaises(Failed):
            up.stop(self.data)
        self.assertIsNone(child.poll())

    def test_a_mark_that_cannot_be_written_is_not_half_there(self):
        self.data.mkdir()
        with mock.patch.object(Path, "write_text", side_effect=OSError("no room")), self.assertRaises(OSError):
            owners.mark(self.data)
        self.assertEqual([], list(self.data.iterdir()))


class YarnOnABusyMachine(unittest.TestCase):
    def shown(self, **said) -> str:
        on = mock.Mock(spec=on_yarn.OnYarn, node="here", **said)
        on.explain.return_value = "offered: nothing\n"
        on.explain_words.return_value = ["explain", "yarn", "here"]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            on_yarn.show(on)
        on.start.assert_called_once()
        return out.getvalue()

    def test_where_others_have_it_it_says_so_and_stays(self):
        for said in (
            {"wait_offer": mock.Mock(side_effect=on_yarn.NothingIdle("for 90 s this machine had less to offer"))},
            {"wait_offer": mock.Mock(return_value=(1024, 4)), "run_job": mock.Mock(side_effect=on_yarn.NothingIdle("for 120 s this machine had no time"))},
        ):
            text = self.shown(**said)
            self.assertRegex(text, r"for \d+ s this machine had .*: others have it")
            self.assertIn("offered: nothing", text)

    def test_what_fails_is_no_busy_machine(self):
        with self.assertRaises(Failed):
            self.shown(wait_offer=mock.Mock(side_effect=Failed("a program ended by itself")))

    def test_a_timeout_names_its_time(self):
        on = on_yarn.OnYarn(mock.Mock(**{"server.poll.return_value": None}, group="g", data=Path("/d")))
        with self.assertRaises(on_yarn.NothingIdle) as raised:
            on._until("had nothing", 0, lambda: None, on_yarn.NothingIdle)
        self.assertEqual("for 0 s this machine had nothing", str(raised.exception))


class Shown(unittest.TestCase):
    def test_the_loads_own_figures_are_read(self):
        found = measure.read("started\n" + OUTPUT)
        self.assertEqual((600.5, 2500, 12000, 9, 1), (found.p50_us, found.p99_us, found.p999_us, found.answers, found.failed))
        self.assertEqual([0, 1], [line["second"] for line in found.seconds])

    def test_a_load_that_ended_without_figures_is_no_result(self):
        with self.assertRaises(Failed) as raised:
            measure.read("tidemark_load: no server\n")
        self.assertIn("no server", str(raised.exception))

    def looked_at(self, times_s: list[float], busy_from_s: float, busy_to_s: float) -> measure.Watch:
        """Of two processors, all busy between two times, a quarter of it stolen, half of it the offline work's."""
        now_s = 0.0

        def busy_s() -> float:
            return max(0.0, min(now_s, busy_to_s) - busy_from_s)

        def processors() -> measure.Processors:
            return measure.Processors(total=int(200 * now_s), idle=int(200 * (now_s - busy_s())), stolen=int(50 * busy_s()))

        watch = measure.Watch(batch_seconds=lambda: busy_s(), now_s=lambda: now_s, processors=processors)
        for now_s in times_s:
            watch.look()
        return watch

    def test_the_machine_counts_for_as_long_as_the_load_does(self):
        seen = self.looked_at([0, 9.5, 10.5, 13.9, 14.1, 60], 10.5, 13.9)  # before it something is started, and after it waited for
        found = measure.read(OUTPUT, seen)
        self.assertAlmostEqual(0.85, found.busy, 2)  # 3.4 of 4 s
        self.assertAlmostEqual(0.85 / 4, found.stolen, 2)
        self.assertAlmostEqual(0.85, found.batch_cores, 2)

    def test_a_time_without_samples_is_no_result(self):
        for times_s in ([11.0, 12, 15], [0.0, 13], []):
            with self.subTest(times_s), self.assertRaises(Failed):
                measure.read(OUTPUT, self.looked_at(times_s, 0, 60))

    def test_the_table(self):
        text = table.text({"alone": measured(busy=0.436), "unprotected": measured(OUTPUT.replace("2500", "9400000"), 1, 1.634)})
        head, alone, unprotected = text.splitlines()
        self.assertEqual(["alone", "0.60", "ms", "2.50", "ms", "12", "ms", "1", "44", "%", "–"], alone.split())
        self.assertEqual(["unprotected", "0.60", "ms", "9.4", "s", "12", "ms", "1", "100", "%", "1.63", "cores"], unprotected.split())
        self.assertEqual(len({len(line) for line in (head, unprotected)}), 1)

    def test_the_price(self):
        text = table.price(measured(busy=0.5), measured(OUTPUT.replace("2500", "5000"), 0.99, 0.93))
        self.assertEqual("The price of 0.93 cores of offline work: p99 is 200 % and p99.9 100 % of alone. The machine is 99 % busy instead of 50 %.\n", text)

    def test_of_rounds_the_medians_and_their_noise(self):
        rounds = [measured(OUTPUT.replace("2500", p99), busy, 1.0) for p99, busy in (("9000", 0.4), ("2000", 0.5), ("3000", 0.9))]
        found = measure.median(rounds)
        self.assertEqual((3000, 0.5, 27, 3), (found.p99_us, found.busy, found.answers, found.failed), "what was not answered is their sum")
        self.assertEqual(list(range(6)), [line["second"] for line in found.seconds])
        self.assertIn("p99 of the service alone was 2.00 ms to 9.00 ms, p99.9 12 ms to 12 ms", table.noise({"alone": rounds, "other": rounds[:1]}, 15))
        self.assertIn("Measured once", table.noise({"alone": rounds[:1]}, 15))
        self.assertEqual([1, 1, 3, 3], [show.rounds_of(seconds) for seconds in (2, 14, 15, 3600)])

    def test_the_rate_is_corrected_by_what_the_machine_did_under_it(self):
        class Plain:
            """A request costs half of what a light load says."""
            def request_cost_s(self):
                return 0.002
            def measure(self, rate, _length_s, _seed):
                return measured(busy=0.05 + rate * 0.001 / show.cores())

        rate = show.rate_for_half(Plain())
        self.assertTrue(show.is_half(Plain().measure(rate, 1, 1).busy), rate)

    def test_where_others_keep_the_machine_busy_the_rate_stays_one_that_shows_something(self):
        plain = mock.Mock(**{"request_cost_s.return_value": 0.001, "measure.return_value": measured(busy=1.0)})
        self.assertEqual(show.HALF * show.cores() / 0.001 / show.RATE_FACTOR_MAX, show.rate_for_half(plain))

    def test_the_drawing_is_well_formed_and_has_every_stage(self):
        stages = {name: measured(busy=0.9, batch_cores=1.0) for name in ("alone", "a < b", "with Tidemark")}
        drawing = xml.etree.ElementTree.fromstring(plot.svg(stages, 2, "2000 requests & more"))
        texts = [element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
        for name in stages:
            self.assertIn(name, texts)
        self.assertEqual(3, len(list(drawing.iter("{http://www.w3.org/2000/svg}polyline"))))


if __name__ == "__main__":
    unittest.main()
