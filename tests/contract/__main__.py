"""python -m contract --server URL --ca FILE --token T: the whole suite against any API server."""

import argparse
import json
import sys
import time
from pathlib import Path

from contract import history, suite
from contract.client import Target


def main() -> int:
    parser = argparse.ArgumentParser(prog="contract", description=__doc__)
    parser.add_argument("--server", required=True, help="https://HOST:PORT")
    parser.add_argument("--ca", required=True, help="file with the CA's certificate")
    parser.add_argument("--token", required=True, help="token of a user with all rights; @FILE reads it from a file")
    parser.add_argument("--in-memory", action="store_true", help="unsupported features must be refused as unsupported.json says")
    parser.add_argument("--etcd", help="http://HOST:PORT of the server's etcd, which is compacted to expire revisions")
    parser.add_argument("--result", type=Path, help="writes [[name, outcome, detail, seconds], …] as JSON")
    parser.add_argument("--workers", type=int, default=suite.WORKERS)
    parser.add_argument("--list", action="store_true", help="list the cases only")
    parser.add_argument("case", nargs="*", help="patterns: 'watch.*'")
    options = parser.parse_args()
    if options.list:
        print("\n".join(case.name for case in suite.all_cases()))
        return 0
    token = Path(options.token[1:]).read_text().strip() if options.token.startswith("@") else options.token
    begin = time.monotonic()
    forget = history.CompactedEtcd(options.etcd) if options.etcd else history.FilledRing() if options.in_memory else None
    results = suite.run_cases(Target(options.server, options.ca, token), options.case, in_memory=options.in_memory, history=forget, workers=options.workers)
    failed = [result for result in results if result.outcome == suite.FAILED]
    for result in failed:
        print(f"FAILED {result.name}\n  " + result.detail.replace("\n", "\n  ").rstrip() + "\n")
    if options.result:
        options.result.write_text(json.dumps([[r.name, r.outcome, r.detail, round(r.seconds, 3)] for r in results], indent=1))
    skipped = [result for result in results if result.outcome == suite.SKIPPED]
    for result in skipped:
        print(f"SKIPPED {result.name}: {result.detail}")
    print(f"{len(results) - len(failed) - len(skipped)} passed, {len(failed)} failed, {len(skipped)} skipped in {time.monotonic() - begin:.1f} s")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
