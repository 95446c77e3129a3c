"""Faults around a random value of a period: which one it is, when it leaves, what it leaves."""

from __future__ import annotations

from typing import Final

from tests.privacy.faults.planting import Fault

PICK: Final = "client/recording/test_pick.py::test_"

PICKED: Final = (
    Fault(
        "the last value of a period takes the place of all others",
        "deniable/_recording/report_writer.py",
        "if rank < report.least:",
        "if True:",
        (PICK + "the_least_rank_holds_over_processes",),
    ),
    Fault(
        "the rank of a value that took another one's place is not kept",
        "deniable/_storage/spool.py",
        "report = report._replace(payload=payload, least=least)",
        "report = report._replace(payload=payload)",
        (PICK + "the_least_rank_holds_over_processes",),
    ),
    Fault(
        "the value is looked at before it is drawn whether it counts",
        "deniable/_recording/recorder.py",
        "        rank = draw_rank() if plan.picks else 0\n"
        "        try:\n"
        "            item = self._encode(plan, value, segment)\n",
        "        try:\n"
        "            item = self._encode(plan, value, segment)\n"
        "            rank = draw_rank() if plan.picks else 0\n",
        (PICK + "the_rank_is_drawn_before_the_value_is_looked_at",),
    ),
    Fault(
        "a period is paid for again with every value that counts",
        "deniable/_storage/ledger.py",
        "        if period <= reported:\n            return Outcome.ALREADY_REPORTED\n",
        "        if period <= reported:\n"
        "            self.lifetime += cost\n"
        "            return Outcome.ALREADY_REPORTED\n",
        (PICK + "many_values_cost_one_report_and_are_one_upload",),
    ),
    Fault(
        "a flush sends a picked value while others may still take its place",
        "deniable/_recording/recorder.py",
        "if relayed or each.waits_for_period_end",
        "if relayed or each.reports_absence",
        (PICK + "no_report_leaves_before_its_period_is_over",),
    ),
    Fault(
        "what waits for the end of its month seems to be due by a clock that was ahead",
        "deniable/_recording/recorder.py",
        "hold = _LONGEST_PERIOD_DAYS * SECONDS_PER_EPOCH if self.held_digests else 0",
        "hold = _LONGEST_PERIOD_DAYS * SECONDS_PER_EPOCH if self.counts_absence else 0",
        (PICK + "no_report_leaves_before_its_period_is_over",),
    ),
    Fault(
        "a report that was tried may still be replaced",
        "deniable/_storage/spool.py",
        "self._reports[report.upload_id] = report._replace(least=0)",
        "self._reports[report.upload_id] = report",
        (PICK + "nothing_is_replaced_once_its_period_was_over_even_if_the_clock_goes_back",),
    ),
    Fault(
        "reports that were replaced stay in the journal when a program ends",
        "deniable/_recording/recorder.py",
        "if self._storage.spool.replaced > 1:",
        "if False:",
        (PICK + "after_close_at_most_one_report_that_was_replaced_can_be_read",),
    ),
    Fault(
        "the least rank of a period stays after its end",
        "deniable/_storage/spool.py",
        "if each.least and each.epoch < today:",
        "if False:",
        (PICK + "the_least_rank_is_erased_when_its_period_is_over",),
    ),
)
