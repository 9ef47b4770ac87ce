"""`tidemark up` with the unit of docs/guide/one-server.md, verbatim, under Debian's systemd as process 1: enabled, restarted, stopped, killed and unable to start, and what happens to its tasks each time."""

import os
import re
import unittest
from pathlib import Path

from driver.paths import ROOT
from support import vm
from support.patience import PATIENCE_S
from support.vm import systemd
from support.vm.waiting import UNTIL_SO

BINARY = Path(os.environ["TIDEMARK_BINARY"])
PAGE = (ROOT / "docs/guide/one-server.md").read_text()
UNIT = re.search(r"^```ini\n(.*?)^```$", PAGE, re.M | re.S)[1]
SETTINGS = re.search(r"^cat > ~/settings.yaml <<'YAML'\n(.*?)^YAML$", PAGE, re.M | re.S)[1]
LOG = b"[Service]\nStandardOutput=append:/up.log\nStandardError=append:/up.log\n"  # the guest has no journal
# Prints the processes of tasks, found by the first words of their command, with their cgroups. A task starts no other program: its fork before the exec would be a second match.
# Each `tidemark local ps` costs an emulated processor much, and that counts as use of the machine: is() polls slowly and the batch task asks for little, or there is never room for it.
LIBRARY = rf"""
{UNTIL_SO}""" + r"""
up=/sys/fs/cgroup/system.slice/tidemark.service
told() { echo "-- $1"; }
go() { timeout $((patience_s + 1)) sh -c 'echo now >/go' || echo "late: /go"; }  # the reader may have died
active() { systemctl is-active tidemark.service; }
main() { systemctl show --property=MainPID --value tidemark.service; }
is() { sleep 1; timeout 120 tidemark local ps -a 2>/dev/null | grep -qE "^$1 .*($2)"; }
tasks() { for group in $(find /sys/fs/cgroup/tidemark -path '*pod*/*' -type d); do for pid in $(cat $group/cgroup.procs); do tr '\0' ' ' </proc/$pid/cmdline | grep -q '^sh -c : ' && echo "$pid ${group#/sys/fs/cgroup}"; done; done | sort; }
limits() { cd /sys/fs/cgroup && cat cgroup.subtree_control tidemark/cgroup.subtree_control tidemark/kubepods/besteffort/cgroup.subtree_control; cat tidemark/kubepods/burstable/pod*/memory.max $(grep -l 67108864 tidemark/kubepods/besteffort/pod*/memory.max); }
"""
SESSION = r"""
. /given/library
mkfifo /never /go
systemctl enable tidemark.service 2>/dev/null
systemctl start multi-user.target
told enabled; systemctl is-enabled tidemark.service; active; tidemark local ps 2>&1
tidemark local run --qos=LS --cpu=100m --memory=32Mi --name=web -- sh -c ': web; read word </never' >/dev/null
tidemark local run --class=free --name=steady -- sh -c ': steady; read word </go; exit 7' >/dev/null
tidemark local run --cpu=50m --memory=64Mi --name=batch -- sh -c ': batch; read word </never' >/dev/null
for name in web steady batch; do until_so "is $name 'Running|Limited'"; done
until_so 'grep -q 67108864 /sys/fs/cgroup/tidemark/kubepods/besteffort/pod*/memory.max'
until_so '[ $(tasks | wc -l) = 3 ]'
told "tasks found"; tasks
told "limits found"; limits
told "in its own group"; for pid in $(cat $up/cgroup.procs); do [ $pid = $(main) ] || cat /proc/$pid/comm; done

systemctl restart tidemark.service
told restarted; active; tidemark local ps >/dev/null 2>&1 && echo serves
told "tasks after a restart"; tasks
systemctl daemon-reload
told "limits after a reload"; limits

systemctl stop tidemark.service
told stopped; active; ls -d $up 2>/dev/null
systemctl daemon-reload
told "tasks while it is stopped"; tasks
told "limits while it is stopped"; limits
go
until_so '[ $(tasks | wc -l) = 2 ]'
systemctl start tidemark.service
until_so "is steady 'Failed exit 7'"
told "ended while it was stopped"; timeout 120 tidemark local ps -a | grep '^steady '

tidemark local run --class=free --name=again -- sh -c ': again; read word </go; exit 9' >/dev/null
until_so "is again 'Running|Limited'"
killed=$(main)
kill -9 $killed; go
until_so "is again 'Failed exit 9'"
until_so '[ "$(active)" = active ]'  # it serves before it says so
told "ended when it was killed"; timeout 120 tidemark local ps -a | grep '^again '
told "begun by itself"; systemctl show --property=NRestarts --value tidemark.service; [ $(main) != $killed ] && active
told "tasks after a kill"; tasks

cp /etc/tidemark/settings.yaml /good
echo 'kind: Nothing' >/etc/tidemark/settings.yaml
systemctl restart tidemark.service >/dev/null 2>&1 || echo "-- refused"
until_so '[ $(grep -c "found .Nothing" /up.log) -gt 6 ]'
told "kept from beginning"; active; tail -n 1 /up.log
told "tasks meanwhile"; tasks
cp /good /etc/tidemark/settings.yaml
until_so '[ "$(active)" = active ]'
told "begins again"; active; tidemark local ps >/dev/null 2>&1 && echo serves

mkdir -p /etc/systemd/system/tidemark.service.d
printf '[Service]\nKillMode=control-group\n' >/etc/systemd/system/tidemark.service.d/kill.conf
systemctl daemon-reload; systemctl restart tidemark.service
told "tasks of cgroup v2 under control-group"; systemctl show --property=KillMode --value tidemark.service; tasks

for name in web batch; do timeout 120 tidemark local stop $name --now --wait >/dev/null 2>&1; done
systemctl stop tidemark.service
until_so '! pidof tidemark >/dev/null'
told left; ls -d /sys/fs/cgroup/tidemark $up 2>/dev/null; pidof tidemark
told log; cat /up.log
"""


class UpUnit(unittest.TestCase):
    maxDiff = None

    def test_tasks_survive_all_actions_of_systemd(self):
        files = {
            **systemd.files(), "/usr/local/bin/tidemark": BINARY, "/bin/tidemark": b'#!/bin/sh\nexec /usr/local/bin/tidemark "$@"\n',
            "/etc/systemd/system/tidemark.service": UNIT.encode(), "/etc/systemd/system/tidemark.service.d/log.conf": LOG,
            "/etc/tidemark/settings.yaml": SETTINGS.encode(), "/given/library": LIBRARY.encode(), "/given/session": SESSION.encode(),
        }
        done = vm.run(["sh", "/given/session"], files=files, deadline_s=4 * PATIENCE_S)
        out = done.text
        self.assertEqual(0, done.code, out + done.stderr.decode(errors="replace"))
        self.assertEqual([], re.findall("^late: .*", out, re.M), out)
        said = dict(re.findall(r"^-- (.*)\n((?:(?!-- ).*\n?)*)", out, re.M))

        self.assertRegex(said["enabled"], r"\Aenabled\nactive\n(?!tidemark: )", "it serves when systemd reports the start")
        self.assertEqual("", said["in its own group"], "tasks and their shims are in their own groups")
        found = said["tasks found"]
        self.assertEqual(3, len(re.findall(r"^\d+ /tidemark/kubepods/(?:burstable|besteffort)/pod\S+$", found, re.M)), found)
        for name in ("tasks after a restart", "tasks while it is stopped"):
            self.assertEqual(found, said[name], name)
        limits = said["limits found"]
        self.assertEqual([str(32 << 20), str(64 << 20)], limits.splitlines()[-2:], "the limits of the online task and of batch work")
        for name in ("limits after a reload", "limits while it is stopped"):
            self.assertEqual(limits, said[name], name)
        self.assertEqual(("active\nserves\n", "inactive\n"), (said["restarted"], said["stopped"]))
        self.assertIn(" Failed exit 7 ", said["ended while it was stopped"])
        self.assertIn(" Failed exit 9 ", said["ended when it was killed"])
        self.assertEqual("1\nactive\n", said["begun by itself"])
        two = said["tasks after a kill"]
        self.assertEqual(2, len(two.splitlines()))
        self.assertLess(set(two.splitlines()), set(found.splitlines()))
        # systemd retries without a limit.
        self.assertIn("refused", said, "the restart command reports the failure")
        self.assertRegex(said["kept from beginning"], r'\Aactivating\n.*settings\.yaml: document 1: wanted a ConfigMap, found "Nothing"\n')
        self.assertEqual(two, said["tasks meanwhile"])
        self.assertEqual("active\nserves\n", said["begins again"])
        self.assertEqual(f"control-group\n{two}", said["tasks of cgroup v2 under control-group"])
        self.assertEqual("", said["left"])


if __name__ == "__main__":
    unittest.main()
