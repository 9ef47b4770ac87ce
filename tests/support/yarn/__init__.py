"""A real ResourceManager and NodeManagers on this machine, each in a JVM of its own on ports of the loopback.

  yarn.py        the fixture: starts them, submits jobs, takes everything down
  pair.py        two ResourceManagers in HA, with a ZooKeeper
  server.py      one of these programs: started, killed, stopped, frozen, and started again on the same ports
  settings.py    what they are configured with
  rest.py        their REST doors
  job.py         an application of distributed shell
  rest_job.py    one that is submitted by REST, with tags and files to fetch
  frameworks.py  jobs of MapReduce and Spark, from the sources in jobs/
  groups.py      the cgroups of containers; container_executor.sh puts them there, in the place of Hadoop's own
  kerberos.py    a KDC of a test's own, and what Hadoop is told of it
  leftovers.py   what belongs to containers, which outlive their NodeManager; and what a killed run left behind
  pom.xml        which version of Hadoop, and which of its jars (driver/maven_jars.py takes them)
"""

from support.yarn.job import ENDED, End, Job
from support.yarn.pair import YarnPair
from support.yarn.server import NotReady
from support.yarn.settings import Totals
from support.yarn.yarn import Yarn, until

__all__ = ["ENDED", "End", "Job", "NotReady", "Totals", "Yarn", "YarnPair", "until"]
