"""A segment on its way from the application to the analyst."""

from __future__ import annotations

from deniable import Client, Outcome
from deniable.testing import InMemoryTransport
from deniable_shared import registry
from tests.aggregator.served import number, shares
from tests.aggregator.service import serving

DEVICES = 40
REGISTRY = """\
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16
epsilon_lifetime = 400
[metrics.theme]
type = "category"
values = ["light", "dark"]
complete = true
epsilon = 8
segment = { name = "channel", values = ["stable", "beta"], other = "another" }
[metrics.late]
type = "boolean"
epsilon = 8
segment = { name = "channel", values = ["stable", "beta"], complete = true }
"""


def test_what_a_segment_holds_is_read_from_reports_of_pairs(tmp_path):
    """At epsilon 8 of 6 pairs a report is the truth in 99.8% of the cases.

    What is asserted would be wrong by chance with a probability below 1e-9.
    """
    with serving(tmp_path / "store.db", part_reports=10) as service:
        assert service.register(REGISTRY).status_code == 200
        metrics = registry.parse(REGISTRY)
        transport = InMemoryTransport()
        for device in range(DEVICES):
            with Client(
                metrics,
                directory=tmp_path / str(device),
                transport=transport,
                consent=True,
                background=False,
                upload_delay_seconds=0.0,
                clock=service.clock,
            ) as client:
                beta = device % 2
                segment = "beta" if beta else ["stable", "nightly"][device % 4 // 2]
                said = client.record("theme", "dark" if beta else "light", segment=segment)
                assert said is Outcome.RECORDED
                refused = client.record("late", True, segment="nightly")
                assert refused is Outcome.OUTSIDE_DOMAIN
                assert client.record("late", bool(beta), segment="beta") is Outcome.RECORDED
                assert client.flush().pending == 0
        assert len(transport.bodies) == 2 * DEVICES
        for body in transport.bodies:
            assert service.send(body).status_code == 204
        beta = service.ask("/v1/metrics/theme/estimate?segment=beta").get_json()
        assert beta["head"]["reports"] == DEVICES
        assert 0.3 < number(beta, "segment size")["estimate"] < 0.7
        assert shares(beta)["dark"] > 0.8
        assert shares(beta)["light"] < 0.2
        whole = service.ask("/v1/metrics/theme/estimate").get_json()
        nightly = number(whole, "segment size", segment="channel=another")
        assert 0.1 < nightly["estimate"] < 0.4
        late = service.ask("/v1/metrics/late/estimate?segment=beta").get_json()
        assert 0.2 < shares(late)["true"] < 0.8
