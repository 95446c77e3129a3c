"""The document that lists the planted faults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.privacy.faults.catalog import AREAS, FAULTS
from tests.privacy.faults.planting import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.privacy.faults.planting import Fault, Findings

SMALL_EVERY: Final = 13
"""The small form plants every fault of this number, as each takes seconds."""

PATH: Final = ROOT / "docs/appendix/planted-faults.md"

HEAD: Final = """\
# Planted faults

Would anybody notice if the client's noise, budget or silence were broken?

Each fault below is a small change of one place in the shipped source, of a kind that happens: an
improvement, a simplification, a slip. It is planted into a copy, and the checks named beside it run
on that copy. All {count} are noticed{by}.
Without a fault none of the checks reports anything. Every fault changes a file, so
`deniable verify --certificate` names that file, too; but that holds for any change, and says
nothing of its harm.

This shows that these checks are not blind to these faults. It does not show that there are no
others.

```sh
python -m tests.privacy.faults            # plants all of them, and prints what each check said
python -m tests.privacy.faults Laplace    # only those with this word in their title
```

The table is that command's (`--write`), and
`test_every_planted_fault_is_noticed_and_the_document_says_by_what` compares them:
`make test PART=all` plants all of them, its small form in CI (`SMALL=1`) every {every}th, always
the same {few}.
"""

TAIL: Final = """\
## From outside

All of these checks know the code. `deniable audit FILE --sample 100000` does not: it draws so many
reports of each of two values with the system's randomness, learns on one half of them which event
tells the values apart best, counts it on the other half, and says what epsilon must be at least, by
Clopper and Pearson's limits, wrong once in a million. So many reports showed 0.96 of an epsilon of
1 for rr, 0.94 for grr, 0.92 for oue and 0.91 for ss, pgr and losue, but 0.18 for gaussian noise: a
low limit proves nothing. 0.7 times the stated noise is noticed
(`test_too_little_noise_is_noticed_and_enough_is_not`), and so is a source that begins anew for each
report (`test_a_source_that_begins_anew_for_every_report_is_noticed`).

Somebody who had read neither rules nor tests attacked all promises once more, in November 2026:

- Worst pairs of histories of memoised mechanisms: values that share an answer exceed what was
  printed for histories that change in the same periods, in 13 reports of a distribution 9.3 instead
  of 4. It is now said of answers
  (`test_histories_of_values_that_share_an_answer_differ_like_any_others`).
- Lives that differ in values only, in 14 registries of 14 kinds of metrics: the same days, lengths,
  outcomes and ledger.
- Two servers that differ only in how many of an open day's reports are a small key's, in 40 answers
  and pages: totals by key and health told single reports, and without the other key a day was one
  report. Now nothing does
  (`test_how_many_of_the_few_reports_of_an_open_day_are_a_keys_is_told_by_nothing`), but for the
  number of reports in a key's contrast.
- The bytes of a store after 300 uploads: pages had waiting reports in their order of arrival. They
  are written anew (`test_nor_does_the_place_of_a_report_in_its_page_tell_when_it_came`), which
  costs up to twice the bytes where uploads come one by one.
- 24 faults: six in randomizers went unnoticed by the audit, which now refuses them (one number, one
  string, one moment, one machine).
- Devices linked by likelihood: 8.2% of second and 33.7% of eighth reports of 5,000 devices, where
  8.2% and 35.0% are stated.
- Forty registries: of 20 traps 12 were found, with 3 false alarms; now 20 and 1
  (`test_most_traps_are_found`).

Other people's auditors have not been run. In November 2026 the package index had no version of
LDP-Auditor (`ldp-audit`), DP-Recorder (`dp-recorder`), DP-Auditorium (`dp-auditorium`) or StatDP
(`statdp`) for Python 3.11; and LDP-Auditor audits the clients of two packages that it imports, not
reports that it is given.
"""


def document(found: Mapping[str, Findings]) -> str:
    """The whole document.

    Args:
        found: what noticed each fault, by its title.
    """
    audited = sum(bool(fault.metric) for fault in FAULTS)
    by = f", {audited} of them by `deniable audit`, which looks at randomizers" if audited else ""
    lines = [
        HEAD.format(count=len(FAULTS), by=by, every=SMALL_EVERY, few=len(FAULTS[::SMALL_EVERY]))
    ]
    for area, faults in AREAS.items():
        lines += [f"## {area}", "", "| fault | in | noticed by |", "|---|---|---|"]
        lines += [row(fault, found[fault.title]) for fault in faults]
        lines.append("")
    return "\n".join([*lines, TAIL])


def row(fault: Fault, found: Findings) -> str:
    """One line of the table, in which what the audit said stands in quotation marks."""
    place = fault.file.partition("/")[2]
    by = [f"`{name(test)}`" for test in fault.tests]
    if fault.metric:
        by.insert(0, f"`deniable audit`: \u201c{found.audit}\u201d")
    return f"| {fault.title} | `{place}` | {'; '.join(by)} |"


def name(test: str) -> str:
    """The name of a test, without its file, class and parameters."""
    return test.partition("[")[0].rpartition("::")[2]
