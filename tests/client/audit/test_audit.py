"""The audit refuses altered randomizers and draws.

Every mechanism as it ships is in test_certificate.py.
"""

from __future__ import annotations

import copy
import json
import random
from dataclasses import replace
from fractions import Fraction

import pytest

from deniable import _randomness
from deniable._audit import AuditFailure, audit_metric, primitives, sections
from deniable._audit.laws.draws import Draw
from deniable._audit.method_text import how_it_was_found
from deniable.randomizers.base import RANDOMIZERS, make_randomizer
from deniable_shared import registry as registries
from deniable_shared.commands.entry import main
from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanisms import Sketch
from deniable_shared.spec import Spec
from tests.client.audit.registries import SMALL, audit, declared_of, registry_of

pytestmark = pytest.mark.audit


@pytest.fixture(autouse=True)
def few_paths(monkeypatch):
    monkeypatch.setattr(sections, "MOST_PATHS", 3_000)


def audited(spec):
    (metric,) = registry_of(spec).metrics.values()
    return audit_metric(metric, declared_of(metric.spec)).verdict


ORIGINALS = dict(RANDOMIZERS)


class Altered:
    """A device whose reports are made by other code, which may use the installed one."""

    def __init__(self, mechanism, sources, report_of):
        self._installed = ORIGINALS[type(mechanism)](mechanism, sources)
        self._report_of = report_of
        self.mechanism = mechanism
        self.randomness = sources.randomness
        self.known = {}

    def report(self, item, secret):
        given = copy.copy(self)
        given.item = item
        given.installed = lambda: self._installed.report(item, secret)
        return self._report_of(given)


def plant(monkeypatch, spec, report_of):
    kind = type(spec.mechanism)
    monkeypatch.setitem(RANDOMIZERS, kind, lambda m, sources: Altered(m, sources, report_of))


def plain(device):
    return bytes([device.item])


def drawn_again_if_false(device):
    first = device.installed()
    return device.installed() if first[0] != device.item else first


def remembered(device):
    return device.known.setdefault(device.item, device.installed())


def longer_for_later_values(device):
    return device.installed() + bytes(device.item)


def of_another_source(device):
    return bytes([device.randomness.uniform_below(3) and random.randrange(3)])


def other_at_a_second_look(device, seen={}):  # noqa: B006  it outlives the device
    seen["last"] = max(device.item, seen.get("last", 0))
    return device.installed() if device.item == seen["last"] else b"\x01"


def one_row_in_two_places(device):
    row = device.randomness.bits(5, 1 << 30)
    return ((row | row << 5) << 6).to_bytes(2, "big")


def group_of_its_own(device):
    group = device.item and device.randomness.uniform_below(32)
    row = device.randomness.bits(5, 1 << 30)
    return group.to_bytes(2, "big") + (row << 3).to_bytes(1, "big")


def looked_at(device):
    return bytes(2 if device.randomness.bits(10, 9) else 3)


def out_of_range(device):
    return bytes([device.item - 1])


def one_row_for_all_reports(device):
    """Adds the bits of one row to the item's own; each report alone has the right law."""
    if not device.known:
        device.known["row"] = device.randomness.bits(10, device.mechanism.other)
    place = 1 << 9 - device.item
    row = device.known["row"] & ~place
    own = place if device.randomness.bernoulli(device.mechanism.own) else 0
    return ((row | own) << 6).to_bytes(2, "big")


def last_lie_made_true(device):
    """A lie that would repeat the last one is the truth instead."""
    made = device.installed()
    if made[0] != device.item and made == device.known.get("last"):
        made = bytes([device.item])
    device.known["last"] = made if made[0] != device.item else None
    return made


def without_noise_at_last(device):
    device.known["reports"] = device.known.get("reports", 0) + 1
    if device.known["reports"] == 50_000:
        return (1 << 15 - device.item).to_bytes(2, "big")
    return device.installed()


FAULTS = [
    ("grr", plain, "rules values out"),
    ("grr", drawn_again_if_false, "nats"),
    ("grr", remembered, "all values that|rules values out|nats"),
    ("grr", longer_for_later_values, "bytes instead of"),
    ("grr", of_another_source, "rules values out|nats|second look"),
    ("grr", other_at_a_second_look, "a second look at"),
    ("oue", one_row_in_two_places, "same random bit"),
    ("dbitflip", group_of_its_own, "in the clear"),
    ("oue", looked_at, "looks at a row"),
    ("oue", one_row_for_all_reports, "a second report takes up"),
    ("grr", last_lie_made_true, "a report changes Altered.known"),
    ("oue", without_noise_at_last, "a report changes Altered.known"),
    ("many subsets", out_of_range, "cannot be followed: ValueError"),
]


@pytest.mark.parametrize(("which", "report_of", "words"), FAULTS)
def test_altered_code_is_refused(monkeypatch, which, report_of, words):
    plant(monkeypatch, SMALL[which], report_of)
    with pytest.raises(AuditFailure, match=words):
        audited(SMALL[which])


@pytest.mark.parametrize(
    ("name", "field"), [("grr", "other"), ("rr", "flip"), ("ht", "flip"), ("oue", "other")]
)
@pytest.mark.parametrize("change", [-1, 1])
def test_a_weight_that_is_off_by_one_of_4_billion_is_refused(monkeypatch, name, field, change):
    spec = SMALL[name]
    weights = {field: getattr(spec.mechanism, field) + change}
    monkeypatch.setitem(
        RANDOMIZERS,
        type(spec.mechanism),
        lambda m, sources: ORIGINALS[type(m)](replace(m, **weights), sources),
    )
    with pytest.raises(AuditFailure, match="nats"):
        audited(spec)


def test_a_sketch_whose_row_depends_on_the_string_is_refused(monkeypatch):
    class Partial:
        def __init__(self, mechanism, sources):
            self._inner = make_randomizer(mechanism.inner, sources)
            self._rows, self._randomness = mechanism.rows, sources.randomness

        def report(self, item, secret):
            row = self._randomness.uniform_below(self._rows - (item == b"ant"))
            return row.to_bytes(2, "big") + self._inner.report(len(item) % 4, secret)

    monkeypatch.setitem(RANDOMIZERS, Sketch, Partial)
    with pytest.raises(
        AuditFailure, match="in the clear does not come as often for 'ant' as for ''"
    ):
        audited(SMALL["cms"])


def by_a_fraction(device):
    randomness, flip = device.randomness, device.mechanism.flip
    return bytes([device.item ^ randomness.bernoulli_fraction(flip, SCALE)])


def by_a_power_of_e(device):
    return bytes([device.item ^ device.randomness.bernoulli_exp(1, 1)])


def test_a_draw_that_is_not_audited_is_refused(file, capsys, monkeypatch):
    for report_of in (by_a_fraction, by_a_power_of_e):
        plant(monkeypatch, SMALL["rr"], report_of)
        draws = sections.section_of(SMALL["rr"]).draws
        with pytest.raises(AuditFailure, match=r"primitive draws: bernoulli_\w+ is drawn"):
            primitives.audit_primitives(draws)
    target = file.with_name("certificate.json")
    file.write_text(FLAG, encoding="utf-8")
    plant(monkeypatch, SMALL["rr"], by_a_fraction)
    assert run(file, "--certificate", target) == 1
    assert "the primitive draws FAILED: bernoulli_fraction is drawn" in capsys.readouterr().out
    assert not target.exists()


def biased(self, bound):
    return self.word() % bound


def inclusive(self, weight):
    return self.word() <= weight


def same_byte(self, count):
    return (self._source(1) * count)[:count]


def halved(self, numerator, denominator):
    return not self.bernoulli_fraction(numerator, 2 * denominator)


def filled_up(self, count):
    try:
        return self._source(count)
    except OSError:
        return random.randbytes(count)


def one_for_all(self, count, weight):
    return ((1 << count) - 1) * (self.word() < weight)


@pytest.mark.parametrize(
    ("name", "method", "draw"),
    [
        ("uniform_below", biased, Draw("uniform_below", (3,))),
        ("bernoulli", inclusive, Draw("bernoulli", (77,))),
        ("take", same_byte, Draw("word", ())),
        ("take", filled_up, Draw("word", ())),
        ("bits", one_for_all, Draw("bits", (16, 0x12345678))),
        (
            "bernoulli_exp",
            lambda self, n, d: self.bernoulli_fraction(n, 2 * d),
            Draw("laplace", (3,)),
        ),
    ],
)
def test_a_primitive_without_its_probabilities_is_refused(monkeypatch, name, method, draw):
    primitives.audit_primitives([draw])
    monkeypatch.setattr(_randomness.Randomness, name, method)
    with pytest.raises(AuditFailure, match="the primitive draws"):
        primitives.audit_primitives([draw])


@pytest.mark.parametrize(
    "part_of", [lambda secret, label: (secret[:8] * 4, label), lambda *key: (key[0], key[1][:64])]
)
def test_a_kept_choice_from_less_than_its_secret_and_label_is_refused(monkeypatch, part_of):
    keyed = _randomness.keyed_randomness
    monkeypatch.setattr(
        _randomness,
        "keyed_randomness",
        lambda secret, label, length: keyed(*part_of(secret, label), length),
    )
    with pytest.raises(AuditFailure, match="SHAKE-256 of secret and label"):
        primitives.audit_primitives([])


@pytest.mark.parametrize("weight", [0, 1, 0x12345678, 1 << 30, SCALE // 2, SCALE - 1, SCALE])
def test_rows_of_bits_are_drawn_pair_by_pair_or_bit_by_bit(weight):
    for count in (1, 2, 7, 64, 129):
        primitives.audit_primitives([Draw("bits", (count, weight))])


def test_bounds_and_weights_of_any_size_are_followed_over_all_words():
    primitives.audit_primitives(
        [
            *(Draw("uniform_below", (bound,)) for bound in (1, 2, 1081, (1 << 31) + 1, SCALE)),
            *(Draw("bernoulli", (weight,)) for weight in (0, 1, SCALE)),
            Draw("weighted_place", (1, SCALE - 8, 7)),
            Draw("one_of", (SCALE - 5 * 700_000_000, 700_000_000)),
        ]
    )


TEXT = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 8
epsilon_lifetime = 80
[metrics.theme]
type = "category"
values = ["light", "dark"]
other = "another"
absent = "none"
epsilon = 1
[metrics.late]
type = "boolean"
segment = { name = "channel", values = ["beta"], other = "others" }
epsilon = 2
"""


FLAG = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 8
epsilon_lifetime = 80
[metrics.late]
type = "boolean"
epsilon = 1
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "metrics.toml").write_text(TEXT, encoding="utf-8")
    return tmp_path / "metrics.toml"


def run(*words):
    with pytest.raises(SystemExit) as ended:
        main(["audit", *map(str, words)])
    return ended.value.code


def test_absence_segments_and_values_that_nobody_listed_are_looked_at(file):
    certificate = audit(registries.load(file))
    theme, late = certificate.metrics
    said = [how_it_was_found(each.verdict.section) for each in (theme, late)]
    assert said[0].startswith("Checked all 5 values with every ")  # also none, and one not listed
    assert said[1].startswith(
        "Checked all 6 values with every "
    )  # flags of beta, others, not listed
    assert max(Fraction(each.spec.mechanism.epsilon) for each in certificate.metrics) <= 2


ABSENT = f"""{FLAG}
absent = false
[metrics.crashes]
type = "number"
range = [0, 10]
absent = 2.5
mechanism = "duchi"
epsilon = 1
"""


def test_what_a_flag_and_a_number_report_where_nothing_was_recorded_is_looked_at(
    tmp_path, monkeypatch
):
    path = tmp_path / "metrics.toml"
    path.write_text(ABSENT, encoding="utf-8")
    assert run(path) == 0
    monkeypatch.setattr(Spec, "encode_absent", lambda _: 7)
    assert run(path) == 1


def test_the_command_writes_a_certificate_that_is_the_same_each_time(file, capsys):
    first, second = file.with_name("one.json"), file.with_name("two.json")
    assert run(file, "--certificate", first) == 0
    page = capsys.readouterr().out
    assert "theme: passed, proved for all values" in page
    assert "Not covered: values and draws that were left out, Python itself, mmh3" in page
    assert run(file, "--certificate", second, "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert first.read_bytes() == second.read_bytes()
    assert printed["certificate"] == json.loads(first.read_text("utf-8"))
    assert printed["passed"] == ["theme", "late"]


@pytest.mark.parametrize("place", [".", "nowhere/certificate.json"])
def test_a_certificate_without_a_place_is_refused_before_the_audit(file, place, capsys):
    assert run(file, "--certificate", file.parent / place) == 1
    said = capsys.readouterr()
    assert "--certificate must be a file in a folder that is there, got" in said.err
    assert not said.out


def test_a_metric_that_fails_is_named_and_no_certificate_is_written(file, capsys, monkeypatch):
    spec = registries.load(file).metrics["theme"].spec
    plant(monkeypatch, spec, plain)
    target = file.with_name("certificate.json")
    assert run(file, "--certificate", target) == 1
    page = capsys.readouterr().out
    assert "theme: FAILED" in page
    assert "Do not ship it" in page
    assert not target.exists()
