"""Faults of what a client does for a relay: they show who sends, or split the crowd."""

from __future__ import annotations

from typing import Final

from tests.privacy.faults.planting import Fault

TRANSPORT: Final = "client/transport/test_relay.py::test_"
SEALED: Final = TRANSPORT + "what_leaves_is_an_envelope_that_only_the_aggregator_opens"
DATED: Final = "client/recording/test_relayed.py::test_"
DUE: Final = DATED + "a_report_has_the_last_day_of_its_period_and_leaves_12_to_36_hours_after"

RELAYED: Final = (
    Fault(
        "an endpoint of the environment is used while there is a relay",
        "deniable/_arguments.py",
        "if in_development and (endpoint or environment.get",
        "if (endpoint or environment.get",
        (TRANSPORT + "a_relay_that_is_away_is_not_passed_by",),
    ),
    Fault(
        "uploads are sealed to another key than that of the registry",
        "deniable_shared/sealing/keys.py",
        "loaded = _load_x25519(self.data)\n",
        "loaded = _load_x25519(bytes([9]) + bytes(31))\n",
        (SEALED,),
    ),
    Fault(
        "the write key is shown to the relay, too",
        "deniable/_transport/relay.py",
        "super().__init__(relay.url, {}, proxy, ca_file)",
        'super().__init__(relay.url, {"Authorization": f"Bearer {key}"}, proxy, ca_file)',
        (TRANSPORT + "the_write_key_is_nowhere_but_inside",),
    ),
    Fault(
        "the tag is one of the report, so equal answers have equal tags",
        "deniable_shared/sealing/envelope.py",
        "header = self._head + tag_of(wire.decode(body).id)",
        "header = self._head + tag_of(wire.decode(body).parts[0].payload)",
        (SEALED,),
    ),
    Fault(
        "padding is left out of what is sealed, so its length tells the metric",
        "deniable_shared/sealing/envelope.py",
        "self._key.seal(self._write_key + body,",
        'self._key.seal(self._write_key + body.rstrip(b"\\x00"),',
        (SEALED,),
    ),
    Fault(
        "what goes through a relay is dated to the day on which it was recorded",
        "deniable/_recording/metric_plan.py",
        "self.waits = relayed or metric.spec.waits_for_period_end",
        "self.waits = metric.spec.waits_for_period_end",
        (DUE,),
    ),
    Fault(
        "what goes through a relay leaves within the delay that the application wants",
        "deniable/_engine.py",
        "hold_seconds, delay_seconds = RELAY_HOLD_SECONDS, RELAY_SPREAD_SECONDS",
        "hold_seconds = RELAY_HOLD_SECONDS",
        (DATED + "due_times_are_spread_over_the_whole_day",),
    ),
    Fault(
        "a clock that is ahead sends into the batch of the period before",
        "deniable/_recording/metric_plan.py",
        "RELAY_HOLD_SECONDS: Final = 43_200.0",
        "RELAY_HOLD_SECONDS: Final = 0.0",
        (DATED + "a_clock_that_is_hours_ahead_sends_nothing_before_the_close", DUE),
    ),
    Fault(
        "a value is sent however late it is, and its absence is not",
        "deniable/_storage/spool.py",
        "if each.epoch < first_required and each.digest in required_digests",
        "if each.epoch < first_required and each.tries and each.digest in required_digests",
        (DATED + "neither_reports_nor_budget_tell_whether_there_was_a_value",),
    ),
)
