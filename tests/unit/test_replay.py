"""`tidemark replay` as a user calls it: the same bytes for the same record; if a byte that matters differs, the differences by field."""

import json
import os
import shutil
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

DECISIONS = Path(__file__).parents[1] / "golden" / "replay"
GOLDEN = DECISIONS.parent / "previous" / "078c0090" / "journal" / "0000000000000001.tmj"
MARK = b"TMJ\x01"
START, DECISION = 1, 16  # the first byte of a payload


def varint(value: int) -> bytes:
    """Signed numbers as in journal/record.h: zigzag, seven bits per byte."""
    value <<= 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def checksum(content: bytes) -> int:
    """FNV-1a."""
    value = 0xCBF29CE484222325
    for byte in content:
        value = ((value ^ byte) * 0x100000001B3) & (2**64 - 1)
    return value


def frames(segment: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(segment):
        assert segment[at : at + 4] == MARK
        length = struct.unpack_from("<I", segment, at + 4)[0]
        found.append(segment[at + 16 : at + 16 + length])
        at += 16 + length
    return found


def segment(payloads: list[bytes]) -> bytes:
    out = b""
    for payload in payloads:
        length = struct.pack("<I", len(payload))
        out += MARK + length + struct.pack("<Q", checksum(length + payload)) + payload
    return out


def replayed(folder: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [os.environ["TIDEMARK_BINARY"], "replay", "--journal-dir", str(folder), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )


class Recorded(unittest.TestCase):
    """A run on a real API server, recorded under policy 9 (tests/golden/replay): every version of that policy must decide the same again."""

    POLICY = 9
    # Different decisions of later policies, by node and field.
    OTHERWISE: set[tuple[str, str]] = set()

    def test_recorded_decisions_are_repeated(self):
        [segment] = DECISIONS.glob("*.tmj")
        start = frames(segment.read_bytes())[0]
        self.assertEqual((START, varint(self.POLICY)), (start[0], start[2:3]), "policy of its writer")
        done = replayed(DECISIONS, "-o", "json")
        shown = json.loads(done.stdout)
        self.assertEqual(("", 0), (done.stderr, shown["unreadable"]))
        self.assertGreater(shown["decisions"], 30)
        found = {(each["node"], change["field"]) for each in shown["differences"] for change in each["changes"]}
        if shown["policy"] == self.POLICY:
            self.assertEqual(set(), found, "the same input gives a different result: raise kPolicyVersion (manager/record/decision_record.h)")
        self.assertEqual(
            self.OTHERWISE, found,
            f"policy {shown['policy']} decides differently from {self.POLICY}. If that is intended, add it to OTHERWISE, or record again: tests/golden/replay/README.md",
        )


class Replay(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="tidemark-replay-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.whole = frames(GOLDEN.read_bytes())
        # Its window begins again as it ends, each midnight: since policy 8 this does not change its line.
        self.payloads = [each for each in self.whole if each[0] != DECISION or b"previous-web" not in each[:40]]

    def replay(self, *words: str) -> tuple[int, str]:
        (self.folder / GOLDEN.name).write_bytes(segment(self.payloads))
        done = replayed(self.folder, *words)
        self.assertEqual("", done.stderr)
        return done.returncode, done.stdout

    def last_of(self, node: str) -> int:
        name = bytes([len(node)]) + node.encode()
        return max(i for i, payload in enumerate(self.payloads) if payload[0] == DECISION and name in payload[:40])

    def remove_core(self, place: int) -> None:
        """The node in the record gets 31 cores instead of 32: capacity and allocatable."""
        self.assertIn(varint(32000), self.payloads[place])
        self.payloads[place] = self.payloads[place].replace(varint(32000), varint(31000), 1)

    def test_the_same_record_gives_the_same_bytes(self):
        self.assertEqual(GOLDEN.read_bytes(), segment(self.whole), "the frames are decoded correctly")
        decisions = sum(payload[0] == DECISION for payload in self.payloads)
        code, text = self.replay()
        self.assertEqual((0, f"{decisions} decisions made again: {decisions} the same, 0 otherwise, 0 not readable\n"), (code, text))
        self.assertEqual((0, text), self.replay())
        shown = json.loads(self.replay("-o", "json")[1])
        self.assertEqual(([], {}), (shown["differences"], shown["fields"]))

    def test_different_decisions_of_a_later_policy_are_shown_by_field(self):
        self.payloads = self.whole
        code, text = self.replay("-o", "json")
        shown = json.loads(text)
        self.assertEqual((1, 3, 0, {"offer.line.changesAt": 3}), (code, shown["differ"], shown["unreadable"], shown["fields"]))
        self.assertEqual({"previous-web"}, {each["node"] for each in shown["differences"]})
        self.assertFalse([note for note in shown["notes"] if "report it" in note], "another version may decide differently")

    def test_a_byte_that_matters_is_a_difference_in_its_fields(self):
        """The line was at 60 %: 19.2 of 32 cores, 18.6 of 31; the system used 2 and a pod 2."""
        self.remove_core(self.last_of("previous-plain"))
        code, text = self.replay("-o", "json")
        self.assertEqual(1, code)
        shown = json.loads(text)
        self.assertEqual((1, 0), (shown["differ"], shown["unreadable"]))
        [one] = shown["differences"]
        self.assertEqual("previous-plain", one["node"])
        changes = {each["field"]: (each["before"], each["after"]) for each in one["changes"]}
        self.assertEqual(("15200", "14600"), changes["kubernetes.io/batch-cpu.published"])
        self.assertEqual(("15200", "14600"), changes["publish.kubernetes.io/batch-cpu"])
        self.assertFalse([field for field in changes if "memory" in field], "no byte of its memory changed")
        self.assertEqual({field: 1 for field in changes}, shown["fields"])
        self.assertFalse([note for note in shown["notes"] if "report it" in note], "another version may decide differently")
        text = self.replay()[1]
        self.assertIn("kubernetes.io/batch-cpu.published: 15200 -> 14600\n", text)
        self.assertIn(" 1 otherwise, 0 not readable\n", text)
        self.assertEqual(1, self.replay("--limit=0")[0])
        self.assertEqual(0, self.replay("--node=previous-idle")[0], "the other nodes are unchanged")

    def test_a_difference_by_the_same_version_is_reported_as_a_fault(self):
        policy = json.loads(self.replay("-o", "json")[1])["policy"]
        start = self.payloads[0]
        self.assertEqual((START, varint(9) + varint(7)), (start[0], start[1:3]), "schema and policy of its writer")
        self.payloads[0] = start[:2] + varint(policy) + start[3:]
        self.assertEqual(0, self.replay()[0])
        self.remove_core(self.last_of("previous-plain"))
        code, text = self.replay()
        self.assertEqual(1, code)
        self.assertIn(f"1 of them were made by policy {policy}, which is this program's: the same should have come out. Please report it", text)

    def test_a_damaged_byte_is_no_difference(self):
        whole = segment(self.payloads)
        damaged = bytearray(whole)
        damaged[-1] ^= 0x55
        (self.folder / GOLDEN.name).write_bytes(damaged)
        done = replayed(self.folder)
        self.assertEqual(1, done.returncode)
        self.assertIn(" the same, 0 otherwise, ", done.stdout)
        self.assertIn("damaged bytes", done.stdout)


if __name__ == "__main__":
    unittest.main()
