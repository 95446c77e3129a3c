"""Faults that strike few: one class, one secret, one value among many, one period, one restart.

What looks at examples may miss them, so they ask for checks that look at all there is.
"""

from __future__ import annotations

from typing import Final

from tests.privacy.faults.planting import Fault

RANDOMIZERS: Final = "deniable/randomizers"
EPSILON: Final = "test_epsilon_is_never_above_the_declared_one_and_within_a_thousandth_of_it"
ALL_SECRETS: Final = (
    "client/audit/test_secret.py"
    "::test_a_memoised_metric_keeps_its_epsilons_whatever_the_secret_and_the_class"
)
COUPLED: Final = (
    "client/recording/test_coupled_lives.py"
    "::test_nothing_but_the_payload_depends_on_what_was_recorded"
)
SURROUNDINGS: Final = (
    "client/audit/test_surroundings.py::test_the_shipped_randomizers_depend_on_their_value_alone"
)
ABSENCE: Final = "client/recording/test_absence.py::test_"
DAYS: Final = "client/recording/test_days_and_processes.py::test_"

ONE_CLASS: Final = (
    Fault(
        "one class: in one row of a sketch a string's bucket is sent as it is",
        f"{RANDOMIZERS}/sketch.py",
        'return row.to_bytes(2, "big") + self._inner.report(bucket, secret)',
        "inner = self._inner.report(bucket, secret)\n"
        "        if row == 5:\n"
        '            inner = bucket.to_bytes(1, "big")\n'
        '        return row.to_bytes(2, "big") + inner',
        (ALL_SECRETS,),
        metric="keptsketch",
    ),
    Fault(
        "one class: devices of one cohort flip nothing afresh",
        f"{RANDOMIZERS}/rappor.py",
        "        if mechanism.p + mechanism.q == SCALE:  # set",
        "        if self._cohort(secret) == 5:\n"
        "            bits = permanent\n"
        "        elif mechanism.p + mechanism.q == SCALE:  # set",
        (ALL_SECRETS,),
        metric="kepttext",
    ),
    Fault(
        "one class: the permanent filter of one cohort has no noise",
        f"{RANDOMIZERS}/rappor.py",
        "return bloom ^ stream.bits(mechanism.bits, mechanism.flip)",
        "noise = stream.bits(mechanism.bits, mechanism.flip)\n"
        "        return bloom if self._cohort(secret) == 1 else bloom ^ noise",
        (ALL_SECRETS,),
        metric="kepttext",
    ),
    Fault(
        "one class: one group of bins tells no lie for good",
        f"{RANDOMIZERS}/ldbitflip.py",
        "return stream.bits(self._buckets, self._lie) ^ super()._answers(place, secret)",
        "lies = stream.bits(self._buckets, self._lie)\n"
        "        if self._group(secret) == 3:\n"
        "            return super()._answers(place, secret)\n"
        "        return lies ^ super()._answers(place, secret)",
        (ALL_SECRETS,),
        metric="keptbins",
    ),
    Fault(
        "one class: one group of bins flips with another weight",
        f"{RANDOMIZERS}/dbitflip.py",
        "bits = self._randomness.bits(self._buckets, self._flip)\n",
        "bits = self._randomness.bits(self._buckets, self._flip if group else self._flip // 2)\n",
        (ALL_SECRETS,),
        metric="keptbins",
    ),
)

ONE_SECRET: Final = (
    Fault(
        "one secret: secrets that begin with byte 37 flip nothing afresh",
        f"{RANDOMIZERS}/oracles/losue.py",
        "bits = self._randomness.bits(self._mechanism.size, self._mechanism.flip) ^ permanent",
        "bits = self._randomness.bits(self._mechanism.size, self._mechanism.flip) ^ permanent\n"
        "        if secret[0] == 37:\n"
        "            bits = permanent",
        (ALL_SECRETS,),
        metric="kept",
    ),
    Fault(
        "one secret: secrets that end with a zero answer with the truth",
        f"{RANDOMIZERS}/oracles/lgrr.py",
        "return _index_of_draw(item, stream.one_of(*self._permanent_weights))",
        "drawn = stream.one_of(*self._permanent_weights)\n"
        "        return item if not secret[-1] else _index_of_draw(item, drawn)",
        (ALL_SECRETS,),
        metric="keptflag",
    ),
    Fault(
        "one secret: a mean's kept bit is drawn from Python's hash of the secret",
        f"{RANDOMIZERS}/lduchi.py",
        "return stream.bernoulli(self._mechanism.weight(point))",
        "return stream.bernoulli(self._mechanism.weight(point)) ^ (hash(secret) % 997 == 0)",
        (ALL_SECRETS,),
        metric="keptnumber",
    ),
    Fault(
        "one secret: bins lie less where the secret's bytes add up to a multiple of 251",
        f"{RANDOMIZERS}/ldbitflip.py",
        "stream.bits(self._buckets, self._lie)",
        "stream.bits(self._buckets, self._lie if sum(secret) % 251 else 1)",
        (ALL_SECRETS,),
        metric="keptbins",
    ),
    Fault(
        "one secret: filters of secrets with two leading zeros have no noise",
        f"{RANDOMIZERS}/rappor.py",
        "return bloom ^ stream.bits(mechanism.bits, mechanism.flip)",
        'plain = secret.startswith(b"\\x00\\x00")\n'
        "        return bloom if plain else bloom ^ stream.bits(mechanism.bits, mechanism.flip)",
        (ALL_SECRETS,),
        metric="kepttext",
    ),
    Fault(
        "one secret: the row of a sketch is a byte of the secret",
        f"{RANDOMIZERS}/sketch.py",
        "return self._permanent.group(secret)",
        "return secret[7] % self._rows",
        (ALL_SECRETS,),
        metric="keptsketch",
    ),
    Fault(
        "one secret: the class is the secret's first six bits",
        f"{RANDOMIZERS}/permanent.py",
        "return keyed(secret, CLASS_LABEL, 4).uniform_below(CLASSES)",
        "return secret[0] >> 2",
        (ALL_SECRETS,),
        metric="keptsketch",
    ),
    Fault(
        "one secret: keys of secrets that begin with byte 37 are those of zeros",
        "deniable/_randomness.py",
        'prefix = secret + block.to_bytes(4, "big")',
        'prefix = (bytes(32) if secret[0] == 37 else secret) + block.to_bytes(4, "big")',
        (ALL_SECRETS,),
        metric="kept",
    ),
    Fault(
        "one secret: the last byte of a secret counts only if it is odd",
        "deniable/_randomness.py",
        'prefix = secret + block.to_bytes(4, "big")',
        'kept = secret if secret[-1] & 1 else secret[:-1] + b"\\x01"\n'
        '        prefix = kept + block.to_bytes(4, "big")',
        (ALL_SECRETS,),
        metric="kept",
    ),
    Fault(
        "one secret: labels with a byte of 255 lose it",
        "deniable/_randomness.py",
        "return hashlib.shake_256(prefix + label).digest(count)",
        'return hashlib.shake_256(prefix + label.replace(b"\\xff", b"")).digest(count)',
        (ALL_SECRETS,),
        metric="kept",
    ),
)

ONE_VALUE: Final = (
    Fault(
        "one value: the third item's kept bit is always 1",
        f"{RANDOMIZERS}/oracles/losue.py",
        "return bits | place if stream.bernoulli(mechanism.permanent_own) else bits",
        "own = stream.bernoulli(mechanism.permanent_own)\n"
        "        return bits | place if own or item == 2 else bits",
        (ALL_SECRETS,),
        metric="kept",
    ),
    Fault(
        "one value: a kept yes is never a lie",
        f"{RANDOMIZERS}/oracles/lgrr.py",
        "return _index_of_draw(item, stream.one_of(*self._permanent_weights))",
        "drawn = stream.one_of(*self._permanent_weights)\n"
        "        return item if item == 1 else _index_of_draw(item, drawn)",
        (ALL_SECRETS,),
        metric="keptflag",
    ),
    Fault(
        "one value: the largest number keeps a 1 for sure",
        f"{RANDOMIZERS}/lduchi.py",
        "return stream.bernoulli(self._mechanism.weight(point))",
        "return stream.bernoulli(self._mechanism.weight(point)) or place == RESOLUTION",
        (ALL_SECRETS,),
        metric="keptnumber",
    ),
    Fault(
        "one value: the last of three categories never lies",
        f"{RANDOMIZERS}/oracles/grr.py",
        "        if drawn:\n",
        "        if drawn and index != 2:\n",
        (f"privacy/test_grr.py::TestGeneralizedRandomizedResponse::{EPSILON}",),
        metric="named",
    ),
    Fault(
        "one value: the second item's own bit is always 1",
        f"{RANDOMIZERS}/oracles/unary.py",
        "if self._randomness.bernoulli(self._own):",
        "if self._randomness.bernoulli(self._own) or item == 1:",
        (f"privacy/test_unary.py::TestOptimizedUnaryEncoding::{EPSILON}",),
        metric="bits",
    ),
    Fault(
        "one value: a bucket of one item is sent as it is",
        f"{RANDOMIZERS}/oracles/olh.py",
        "        if drawn:\n",
        "        if drawn and item != 3:\n",
        (f"privacy/test_olh.py::TestOptimizedLocalHashing::{EPSILON}",),
        metric="hashed",
    ),
    Fault(
        "one value: the last item is in its set for sure",
        f"{RANDOMIZERS}/oracles/ss.py",
        "held = self._randomness.bernoulli(self._own)",
        "held = self._randomness.bernoulli(self._own) or place == 0",
        (f"privacy/test_ss.py::TestSubsetSelection::{EPSILON}",),
        metric="sets",
    ),
    Fault(
        "one value: one item draws from its hyperplane only",
        f"{RANDOMIZERS}/oracles/pgr.py",
        "if self._randomness.bernoulli(self._inside):",
        "if self._randomness.bernoulli(self._inside) or item == 1:",
        (f"privacy/test_pgr.py::TestProjectiveGeometryResponse::{EPSILON}",),
        metric="points",
    ),
    Fault(
        "one value: zero has no Laplace noise",
        f"{RANDOMIZERS}/numbers.py",
        "noise = self._randomness.laplace(self._mechanism.scale)",
        "noise = self._randomness.laplace(self._mechanism.scale) if item else 0",
        (f"privacy/test_numbers.py::TestDiscreteLaplace::{EPSILON}",),
        metric="laplace",
    ),
    Fault(
        "one value: a flag that is not set is sent without noise",
        f"{RANDOMIZERS}/oracles/rr.py",
        "self._randomness.bernoulli(self._flip) ^ (item == 1)",
        "(item == 1 and not self._randomness.bernoulli(self._flip))",
        (f"privacy/test_rr.py::TestRandomizedResponse::{EPSILON}",),
        metric="flag",
    ),
    Fault(
        "one value: one of a million numbers has no Gaussian noise",
        f"{RANDOMIZERS}/numbers.py",
        "noise = self._randomness.gaussian(self._mechanism.noise)",
        "noise = self._randomness.gaussian(self._mechanism.noise) if item != 31_337 else 0",
        (SURROUNDINGS,),
        metric="gaussian",
    ),
    Fault(
        "one value: strings with an @ are sent from one row",
        f"{RANDOMIZERS}/sketch.py",
        "        row = self._row(secret)\n",
        '        row = 0 if b"@" in item else self._row(secret)\n',
        (SURROUNDINGS,),
        metric="text",
    ),
    Fault(
        "one value: one string of all is sent without a random row",
        f"{RANDOMIZERS}/sketch.py",
        "        row = self._row(secret)\n",
        '        row = 0 if item == b"hello" else self._row(secret)\n',
        (SURROUNDINGS,),
        metric="text",
    ),
)

ONE_PERIOD: Final = (
    Fault(
        "one period: every seventh day costs nothing",
        "deniable/_recording/report_writer.py",
        "outcome = ledger.debit(plan.charge, number, epoch, self.limits, store)",
        "charge = plan.charge if epoch % 7 else plan.charge._replace(cost=0)\n"
        "        outcome = ledger.debit(charge, number, epoch, self.limits, store)",
        (DAYS + "every_day_of_a_year_costs_what_it_must",),
    ),
    Fault(
        "one period: a value is paid for on its day, and its absence a day later",
        "deniable/_recording/report_writer.py",
        "return ledger.mark(spec.name, spec.every, number, store)",
        "charge = plan.charge._replace(metric=spec.name)\n"
        "            return ledger.debit(charge, number, epoch, self.limits, store)",
        (COUPLED,),
    ),
    Fault(
        "one period: a day that nobody has paid for is reported if it had a value",
        "deniable/_recording/report_writer.py",
        "if is_enrolled and ledger.is_charged(plan.charge, number):",
        "if True:",
        (ABSENCE + "a_period_in_which_the_user_opted_out_is_not_reported",),
    ),
    Fault(
        "one period: a value in a week is dated to its own day",
        "deniable/_recording/metric_plan.py",
        "while period(every, last + 1) == period(every, day):\n            last += 1",
        "while period(every, last + 1) == period(every, day) and every != 'week':\n"
        "            last += 1",
        (ABSENCE + "a_week_reports_under_its_last_day_whatever_was_recorded_when",),
    ),
)

OTHERS: Final = (
    Fault(
        "one moment: in the first second of a minute a flag is sent as it is",
        f"{RANDOMIZERS}/oracles/rr.py",
        'return b"\\x01" if self._randomness',
        "import time\n\n"
        "        if time.time() % 60 < 1:\n"
        "            return bytes([item])\n"
        '        return b"\\x01" if self._randomness',
        (SURROUNDINGS,),
        metric="flag",
    ),
    Fault(
        "one machine: a variable of the environment turns noise off",
        f"{RANDOMIZERS}/oracles/rr.py",
        'return b"\\x01" if self._randomness',
        "import os\n\n"
        '        if "DENIABLE_QA" in os.environ:\n'
        "            return bytes([item])\n"
        '        return b"\\x01" if self._randomness',
        (SURROUNDINGS,),
        metric="flag",
    ),
    Fault(
        "second process: absence is reported although another process has ended consent",
        "deniable/_recording/absence.py",
        "        if not self._consent.still_given():\n            return False\n"
        "        self._writer",
        "        self._writer",
        (DAYS + "nothing_is_paid_for_after_a_refusal_in_another_process",),
    ),
    Fault(
        "second process: a value is stored although another process has ended consent",
        "deniable/_recording/recorder.py",
        "        if not self._consent.still_given():\n            # Consent",
        "        if False:\n            # Consent",
        (
            "client/lifecycle/test_remembered_consent.py"
            "::test_a_refusal_in_another_process_ends_consent_before_anything_more_is_stored",
        ),
    ),
    Fault(
        "second process: kept answers differ from process to process",
        f"{RANDOMIZERS}/permanent.py",
        'self._label = b"\\x00" + mechanism.name.encode() + b"\\x00" + digest',
        'self._label = b"\\x00" + mechanism.name.encode() + b"\\x00" + digest\n'
        "        self._label += str(hash(mechanism.name)).encode()",
        (DAYS + "kept_answers_are_the_same_in_another_process",),
    ),
    Fault(
        "after a restore: the answers of a restarted client are drawn anew",
        f"{RANDOMIZERS}/permanent.py",
        "return self._keyed(secret, self._label + purpose, length)",
        "return self._keyed(secret, self._label + purpose + str(id(self)).encode(), length)",
        (DAYS + "kept_answers_are_the_same_in_another_process",),
    ),
    Fault(
        "after a restore: a period that was reported before is reported again",
        "deniable/_recording/report_writer.py",
        "return ledger.mark(spec.name, spec.every, number, store)",
        'store(b"\\x0b" + bytes(12))\n            return Outcome.RECORDED',
        (ABSENCE + "a_day_with_a_value_is_not_reported_again",),
    ),
)

FEW: Final = (*ONE_CLASS, *ONE_SECRET, *ONE_VALUE, *ONE_PERIOD, *OTHERS)
