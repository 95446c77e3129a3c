"""``python -m tests.privacy.faults``: plants every fault, and prints what noticed it.

Each fault is a small change of a copy of the shipped source. The audit, the tests that the catalog
names for it, and the comparison of ``deniable verify`` run on that copy; and all of them once on a
copy without any fault, where they must report nothing.
"""

from __future__ import annotations

import argparse
import json
import sys

from tests.privacy.faults.catalog import FAULTS
from tests.privacy.faults.document import PATH, document, row
from tests.privacy.faults.planting import Fault, Findings, findings


def say(*words: str) -> None:
    """Prints a line at once, as planting takes a while."""
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


def main() -> int:
    """Runs the command, and returns the exit status: 1 if a fault was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.privacy.faults",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("words", nargs="?", default="", help="only faults with this in their title")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth fault")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write", action="store_true", help=f"write {PATH.name}, of all faults")
    options = parser.parse_args()
    chosen = [fault for fault in FAULTS if options.words in fault.title][:: options.every]
    found = {}
    for fault in chosen:
        found[fault.title] = findings(fault, metrics_of(fault), fault.tests)
        if not options.json:
            _say(fault, found[fault.title])
    tests = tuple(dict.fromkeys(test for fault in chosen for test in fault.tests))
    metrics = tuple(dict.fromkeys(metric for fault in chosen for metric in metrics_of(fault)))
    clean = findings(None, metrics, tests)
    missed = [fault.title for fault in chosen if not noticed(fault, found[fault.title])]
    false = [*filter(None, [clean.audit]), *clean.failed, *clean.changed]
    if options.json:
        rows = {fault.title: row(fault, found[fault.title]) for fault in chosen}
        say(json.dumps({"rows": rows, "missed": missed, "without a fault": false}, indent=2))
    else:
        say(f"{len(chosen) - len(missed)} of {len(chosen)} faults were noticed as they should be")
        if missed:
            say("missed:", ", ".join(missed))
        say(f"without a fault: {', '.join(false) or 'nothing is reported'}")
    if options.write and len(chosen) == len(FAULTS) and not missed:
        PATH.write_text(document(found), encoding="utf-8")
    return 1 if missed or false else 0


def metrics_of(fault: Fault) -> tuple[str, ...]:
    """The metrics that are audited: the one whose audit must fail, if there is one."""
    return (fault.metric,) if fault.metric else ()


def noticed(fault: Fault, found: Findings) -> bool:
    """Whether all that must notice a fault did."""
    return (
        bool(found.audit) >= bool(fault.metric)
        and bool(fault.tests)
        and found.failed.keys() == {test.partition("[")[0] for test in fault.tests}
        and found.changed == [fault.file]
    )


def _say(fault: Fault, found: Findings) -> None:
    say(fault.title)
    say(f"  verify  {', '.join(found.changed)} differs")
    if fault.metric:
        say(f"  audit   {found.audit or 'finds nothing'}")
    for test, line in found.failed.items():
        say(f"  test    {test}")
        say(f"          failed at: {line}")
    for test in found.passed:
        say(f"  test    {test} passed")
    say()


if __name__ == "__main__":
    sys.exit(main())
