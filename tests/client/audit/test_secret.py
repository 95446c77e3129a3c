"""What the audit says of secrets: a randomizer may do nothing with one but ask for keyed noise."""

from __future__ import annotations

import pytest

from deniable._audit import AuditFailure
from deniable._audit.laws.memory import check_memory
from deniable._audit.laws.secret import SECRET
from deniable._audit.primitives.calls import audit_primitives
from deniable._audit.sections import section_of
from deniable._audit.verdict import verdict_on
from deniable.randomizers.permanent import PermanentChoices, device_class
from deniable_shared.device_classes import CLASSES
from tests.client.audit.registries import SMALL

pytestmark = pytest.mark.audit

MEMOISED = [name for name, spec in SMALL.items() if spec.mechanism.epsilon_permanent is not None]


@pytest.mark.parametrize("name", MEMOISED)
def test_a_memoised_metric_keeps_its_epsilons_whatever_the_secret_and_the_class(name):
    spec = SMALL[name]
    verdict = verdict_on(section_of(spec))
    check_memory(spec)
    audit_primitives(verdict.draws)


LOOKS = {
    "first byte": lambda secret: secret[0] == 37,
    "length": lambda secret: len(secret) == 32,
    "comparison": lambda secret: secret == b"s" * 32,
    "order": lambda secret: secret < b"s",
    "hash": hash,
    "text": repr,
    "bytes": bytes,
    "integer": lambda secret: int.from_bytes(secret, "big"),
    "method": lambda secret: secret.startswith(b"s"),
    "joined": lambda secret: b"" + secret,
    "class of its own": lambda secret: secret[1] % CLASSES,
    "another key": lambda secret: secret + b"",
    "loop": list,
    "truth": bool,
}


@pytest.mark.parametrize("name", MEMOISED)
@pytest.mark.parametrize("look", LOOKS)
def test_whatever_looks_at_the_secret_is_refused(monkeypatch, name, look):
    stream = PermanentChoices.stream

    def looking(self, secret, purpose, length):
        LOOKS[look](secret)
        return stream(self, secret, purpose, length)

    monkeypatch.setattr(PermanentChoices, "stream", looking)
    with pytest.raises(AuditFailure, match=r"looks at the device's secret|cannot be followed"):
        section_of(SMALL[name])


def test_another_secret_than_the_devices_is_refused(monkeypatch):
    monkeypatch.setattr(
        PermanentChoices, "group", lambda self, _: device_class(b"s" * 32, self._keyed)
    )
    with pytest.raises(AuditFailure, match="not derived from its secret alone"):
        section_of(SMALL["sketch over losue"])


def test_a_secret_is_itself_and_not_empty():
    assert SECRET == SECRET
    assert SECRET != b""
