"""The faults that are planted, each with what must notice it.

Each is small, reads like somebody's improvement, and leaves a program that works. Where the audit
must notice a fault it says of which metric; it looks at randomizers, so what a client does around
them is for the tests.
"""

from __future__ import annotations

from typing import Final

from tests.privacy.faults.few import FEW
from tests.privacy.faults.picked import PICKED
from tests.privacy.faults.planting import Fault
from tests.privacy.faults.relayed import RELAYED

RANDOMIZERS: Final = "deniable/randomizers"
EPSILON: Final = "test_epsilon_is_never_above_the_declared_one_and_within_a_thousandth_of_it"
WHOLE: Final = "client/test_whole_device.py::test_"
SENT: Final = WHOLE + "a_device_sends_what_the_audited_randomizer_draws_from_the_systems_bytes"
SAME_BYTES: Final = WHOLE + "the_same_random_bytes_make_the_same_uploads_and_others_make_others"
DIRECTORY: Final = WHOLE + "but_for_the_report_a_directory_is_the_same_whatever_was_recorded"
SECRET: Final = (
    "client/storage/test_device.py::"
    "test_a_secret_is_32_fresh_bytes_of_the_system_also_after_opting_out"
)
PRIMITIVES: Final = "client/recording/test_randomness.py::test_"
LEDGER: Final = "client/storage/test_ledger.py::test_"
CLOCKS: Final = "client/recording/test_"
UNCHANGED: Final = "client/audit/test_memory.py::test_no_report_changes_what_its_randomizer_holds"
STOLEN: Final = "client/storage/test_stolen_directory.py::test_"

NOISE: Final = (
    Fault(
        "a weight is 1 of 2^32 too small",
        f"{RANDOMIZERS}/oracles/unary.py",
        "self._other = mechanism.other",
        "self._other = mechanism.other - 1",
        (f"privacy/test_unary.py::TestOptimizedUnaryEncoding::{EPSILON}",),
        metric="bits",
    ),
    Fault(
        "weights are rounded to the nearest integer",
        "deniable_shared/exact_bounds.py",
        "return math.ceil(Fraction(numerator) / Fraction(denominator))",
        "return round(Fraction(numerator) / Fraction(denominator))",
        ("shared/test_exact_bounds.py::test_ceil_divide_is_the_smallest_integer_not_below",),
    ),
    Fault(
        "a lie may be the true item",
        f"{RANDOMIZERS}/oracles/grr.py",
        "index = drawn - 1 + (drawn > index)",
        "index = drawn - 1",
        (f"privacy/test_grr.py::TestGeneralizedRandomizedResponse::{EPSILON}",),
        metric="named",
    ),
    Fault(
        "the value is the seed of its hash function",
        f"{RANDOMIZERS}/oracles/olh.py",
        "seed = self._randomness.word()",
        'seed = cast("int", item)',
        (f"privacy/test_olh.py::TestOptimizedLocalHashing::{EPSILON}",),
        metric="hashed",
    ),
    Fault(
        "an item that is drawn twice is dropped, so sets differ in size",
        f"{RANDOMIZERS}/oracles/ss.py",
        "bits |= 1 << last if bits & bit else bit",
        "bits |= bit",
        (f"privacy/test_ss.py::TestSubsetSelection::{EPSILON}",),
        metric="sets",
    ),
    Fault(
        "a false outcome of a set may be one that it holds",
        f"{RANDOMIZERS}/privset.py",
        "            place += place >= each\n",
        "            pass\n",
        (f"privacy/test_privset.py::TestPrivSet::{EPSILON}",),
        metric="several",
    ),
    Fault(
        "a set of too many items is never told as one",
        f"{RANDOMIZERS}/privset.py",
        "if place < (most - 1 if inside else left_out):",
        "if place < (most if inside else left_out):",
        (f"privacy/test_privset.py::TestPrivSet::{EPSILON}",),
        metric="several",
    ),
    Fault(
        "items of a set that share a bucket count twice",
        f"{RANDOMIZERS}/wheel.py",
        "if randomness.bernoulli(len(held) * mechanism.own):",
        "if randomness.bernoulli(min(len(item), mechanism.most) * mechanism.own):",
        (f"privacy/test_wheel.py::TestWheel::{EPSILON}",),
        metric="texts",
    ),
    Fault(
        "a false bucket may be one with an item",
        f"{RANDOMIZERS}/wheel.py",
        "                bucket += bucket >= taken\n",
        "                pass\n",
        (f"privacy/test_wheel.py::TestWheel::{EPSILON}",),
        metric="texts",
    ),
    Fault(
        "of a set of too many texts all are reported",
        f"{RANDOMIZERS}/wheel.py",
        "        if len(texts) <= most:\n",
        "        if len(texts) <= 2 * most:\n",
        (f"privacy/test_wheel.py::TestWheel::{EPSILON}",),
        metric="texts",
    ),
    Fault(
        "a point that looks odd is drawn once more",
        f"{RANDOMIZERS}/oracles/pgr.py",
        "self._randomness.uniform_below(self._hyperplane) - infinity, 0\n",
        "self._randomness.uniform_below(self._hyperplane) - infinity, 0\n"
        "            if drawn < 0:\n"
        "                drawn = self._randomness.uniform_below(self._hyperplane) - infinity\n",
        (f"privacy/test_pgr.py::TestProjectiveGeometryResponse::{EPSILON}",),
        metric="points",
    ),
    Fault(
        "the row of a sketch depends on the value",
        f"{RANDOMIZERS}/sketch.py",
        'row = self._row(secret)\n        word = hashing.word(cast("bytes", item), self._salt)\n',
        'word = hashing.word(cast("bytes", item), self._salt)\n        row = word % self._rows\n',
        (f"privacy/test_sketch.py::TestCountMeanSketch::{EPSILON}",),
        metric="text",
    ),
    Fault(
        "a short text takes no part in deep levels",
        f"{RANDOMIZERS}/trie.py",
        "min(uniform_below(mechanism.levels + 1), mechanism.levels - 1)",
        "min(uniform_below(mechanism.levels + 1), len(item) - 1)",
        ("privacy/test_trie.py::test_level_and_row_say_nothing_about_a_string",),
    ),
    Fault(
        "a row of noise is drawn once, and added to every report",
        f"{RANDOMIZERS}/oracles/unary.py",
        "bits = self._randomness.bits(self._size, self._other) & ~place\n",
        'if not hasattr(self, "_row"):\n'
        "            self._row = self._randomness.bits(self._size, self._other)\n"
        "        bits = self._row & ~place\n",
        (
            "privacy/test_unary.py::TestOptimizedUnaryEncoding"
            "::test_the_sampler_fits_the_exact_probabilities_and_no_others",
        ),
        metric="bits",
    ),
    Fault(
        "gaussian noise has half of its variance",
        f"{RANDOMIZERS}/numbers.py",
        "self._randomness.gaussian(self._mechanism.noise)",
        "self._randomness.gaussian(self._mechanism.noise // 2)",
        (f"privacy/test_numbers.py::TestDiscreteGaussian::{EPSILON}",),
        metric="gaussian",
    ),
    Fault(
        "flags lose their noise when the client is imported",
        "deniable/_recording/recorder.py",
        "_NO_WAIT: Final = 0.0\n",
        "_NO_WAIT: Final = 0.0\n"
        "from deniable.randomizers.oracles import rr\n"
        "rr.RandomizedResponseRandomizer.report = lambda self, item, secret: bytes([item == 1])\n",
        (f"privacy/test_rr.py::TestRandomizedResponse::{EPSILON}",),
        metric="flag",
    ),
    Fault(
        "the report of one attribute is shorter than that of another",
        f"{RANDOMIZERS}/smp.py",
        'return report.ljust(self._width, b"\\x00")',
        "return report",
        (
            "privacy/test_attributes.py::TestSampledAttribute::test_every_report_has_the_stated_width",
        ),
        metric="record",
    ),
    Fault(
        "a metric gets four times the epsilon of its file",
        "deniable_shared/registry/loading.py",
        "epsilon=epsilon,",
        "epsilon=epsilon * 4,",
        (
            "shared/registry/test_resolution.py"
            "::test_the_declared_epsilon_is_never_exceeded_and_hardly_missed",
        ),
        metric="flag",
    ),
    Fault(
        "a lie that would repeat the last one is the truth",
        f"{RANDOMIZERS}/oracles/grr.py",
        '        return index.to_bytes(self._bytes, "big")',
        '        if drawn and index == getattr(self, "_seen", None):\n'
        '            index = cast("int", item)\n'
        "        self._seen = index if drawn else None\n"
        '        return index.to_bytes(self._bytes, "big")',
        (UNCHANGED + "[grr]",),
        metric="named",
    ),
    Fault(
        "the 50,000th report of a client has no noise",
        f"{RANDOMIZERS}/oracles/unary.py",
        "        if self._randomness.bernoulli(self._own):",
        '        self._made = getattr(self, "_made", 0) + 1\n'
        "        if self._made == 50_000:\n"
        "            bits = place\n"
        "        if self._randomness.bernoulli(self._own) or self._made == 50_000:",
        (UNCHANGED + "[oue]",),
        metric="bits",
    ),
)

RANDOMNESS: Final = (
    Fault(
        "noise comes from Python's random numbers",
        "deniable/_randomness.py",
        "source: Callable[[int], bytes] = os.urandom",
        'source: Callable[[int], bytes] = __import__("random").Random().randbytes',
        (PRIMITIVES + "the_default_source_is_the_operating_system", SAME_BYTES),
        metric="flag",
    ),
    Fault(
        "Python's random numbers stand for bytes that the system refuses",
        "deniable/_randomness.py",
        "            self._buffer = self._source(max(count, self._buffer_bytes))\n",
        "            try:\n"
        "                self._buffer = self._source(max(count, self._buffer_bytes))\n"
        "            except OSError:\n"
        '                self._buffer = __import__("random").randbytes(self._buffer_bytes)\n',
        (PRIMITIVES + "nothing_stands_for_bytes_that_the_system_refuses",),
        metric="flag",
    ),
    Fault(
        "noise is seeded by the application's name",
        "deniable/_engine.py",
        "self.randomness = Randomness()",
        'self.randomness = Randomness(__import__("random").Random(registry.application).randbytes)',
        (SAME_BYTES,),
    ),
    Fault(
        "bytes at the end of a block are used twice",
        "deniable/_randomness.py",
        "self._position = end\n",
        "self._position = end if end < len(self._buffer) else 0\n",
        (PRIMITIVES + "no_byte_of_the_stream_is_given_out_twice",),
        metric="flag",
    ),
    Fault(
        "a uniform number is a word modulo its bound",
        "deniable/_randomness.py",
        "while (word := self.word()) >= limit:\n            pass\n        return word % bound",
        "return self.word() % bound",
        (PRIMITIVES + "below_rejects_the_words_that_would_favour_small_numbers",),
        metric="points",
    ),
    Fault(
        "a pair of bits that one byte does not decide is 00",
        "deniable/_randomness.py",
        "ties[mark][byte] or self._resolve_tie(weight, ties[mark], byte)",
        "_DIGITS[0]",
        (PRIMITIVES + "a_bit_has_exactly_the_probability_of_its_weight",),
        metric="bits",
    ),
    Fault(
        "the tail of Laplace noise is cut off",
        "deniable/_randomness.py",
        "while self.bernoulli_exp(1, 1):",
        "while whole < 8 and self.bernoulli_exp(1, 1):",
        (PRIMITIVES + "laplace_noise_has_exactly_its_probabilities",),
        metric="laplace",
    ),
    Fault(
        "a forked child goes on with its parent's random bytes",
        "deniable/_engine.py",
        "        self.randomness.discard_buffer()\n",
        "",
        (
            "client/storage/test_processes.py"
            "::test_forked_children_share_the_ledger_and_draw_their_own_randomness",
        ),
    ),
)

MEMOISED: Final = (
    Fault(
        "a memoised answer is drawn anew",
        f"{RANDOMIZERS}/permanent.py",
        "return self._keyed(secret, self._label + purpose, length)",
        'return self._keyed(__import__("os").urandom(32), self._label + purpose, length)',
        (
            "privacy/test_losue.py::TestMemoizedUnaryEncoding"
            "::test_the_permanent_answer_stays_until_the_spec_or_the_secret_changes",
        ),
        metric="kept",
    ),
    Fault(
        "the memoised answers of all values share their noise",
        f"{RANDOMIZERS}/oracles/losue.py",
        'purpose = b"item\\x00" + item.to_bytes(4, "big")',
        'purpose = b"item\\x00"',
        (
            "privacy/test_losue.py::TestMemoizedUnaryEncoding"
            "::test_the_permanent_answers_of_two_values_have_no_noise_in_common",
        ),
        metric="kept",
    ),
    Fault(
        "memoised noise depends on the last byte of an item's number",
        f"{RANDOMIZERS}/oracles/losue.py",
        'item.to_bytes(4, "big")',
        "bytes([item & 255])",
        ("privacy/test_losue.py::test_no_two_of_300_values_share_a_label_of_kept_noise",),
        metric="keptpair",
    ),
    Fault(
        "the memoised answers of all strings share their noise",
        f"{RANDOMIZERS}/rappor.py",
        'b"value\\x00" + value,',
        'b"value\\x00",',
        (
            "privacy/test_rappor.py"
            "::test_the_permanent_answers_of_two_strings_differ_in_more_than_their_filters",
        ),
        metric="kepttext",
    ),
    Fault(
        "memoised noise depends on four bytes of the secret",
        "deniable/_randomness.py",
        "prefix = secret + block.to_bytes",
        "prefix = secret[:4] * 8 + block.to_bytes",
        (PRIMITIVES + "keyed_randomness_takes_every_byte_of_its_secret_and_of_a_long_label",),
        metric="kept",
    ),
    Fault(
        "the secret has four random bytes, eight times",
        "deniable/_storage/journal.py",
        "secret = os.urandom(SECRET_BYTES)\n",
        "secret = os.urandom(4) * 8\n",
        (SECRET,),
    ),
    Fault(
        "the secret after opting out follows from the one before",
        "deniable/_storage/journal.py",
        "Dropped.CONSENT_WITHDRAWN, os.urandom(SECRET_BYTES))",
        'Dropped.CONSENT_WITHDRAWN, __import__("hashlib").sha256(self.secret).digest())',
        (SECRET,),
    ),
    Fault(
        "two versions of a metric share memoised noise",
        f"{RANDOMIZERS}/permanent.py",
        'b"\\x00" + mechanism.name.encode() + b"\\x00" + digest',
        'b"\\x00" + mechanism.name.encode() + b"\\x00"',
        ("privacy/test_rappor.py::test_two_specs_of_a_metric_share_no_permanent_noise",),
    ),
    Fault(
        "every metric draws a class of its own",
        f"{RANDOMIZERS}/permanent.py",
        "found = device_class(secret, self._keyed)",
        'found = self.stream(secret, b"class", 4).uniform_below(CLASSES)',
        (
            "privacy/test_device_classes.py"
            "::test_all_memoised_metrics_in_all_versions_show_six_bits_of_a_device_together",
        ),
    ),
    Fault(
        "a memoised sketch draws its row anew",
        f"{RANDOMIZERS}/sketch.py",
        "return (MemoizedSketchRandomizer if memoized else SketchRandomizer)(mechanism, sources)",
        "return SketchRandomizer(mechanism, sources)",
        (
            "privacy/test_sketch.py::TestLoloha"
            "::test_a_device_keeps_its_row_and_devices_share_them_evenly",
        ),
    ),
    Fault(
        "bins outside of a device's group have answers of their own",
        f"{RANDOMIZERS}/ldbitflip.py",
        "min(place, self._buckets)",
        "place",
        ("privacy/test_ldbitflip.py::test_bins_that_are_not_the_device_s_are_one_class",),
    ),
    Fault(
        "a memoised number is rounded anew for every report",
        f"{RANDOMIZERS}/lduchi.py",
        'alpha = self._permanent.stream(secret, b"alpha\\x00", 4)',
        "alpha = self._randomness",
        (
            "privacy/test_lduchi.py::test_alpha_is_the_same_at_every_report_and_uniform_over_devices",
        ),
        metric="keptnumber",
    ),
)

BUDGET: Final = (
    Fault(
        "the debit is forgotten",
        "deniable/_recording/report_writer.py",
        "outcome = ledger.debit(plan.charge, number, epoch, self.limits, store)",
        'outcome = Outcome.RECORDED\n        if store: store(b"\\x0b" + bytes(12))',
        ("client/recording/test_client.py::test_periods_survive_a_restart",),
    ),
    Fault(
        "permanent answers cost no more than one report",
        "deniable/_storage/cost.py",
        "spec.digest, cost_nano_nats(total))",
        "spec.digest, cost)",
        (
            "client/lifecycle/test_lifetime.py"
            "::test_a_memoised_boolean_reports_for_years_and_costs_what_its_two_answers_cost",
        ),
    ),
    Fault(
        "costs are rounded down",
        "deniable/_storage/cost.py",
        "return math.ceil(Fraction(epsilon) * NANO)",
        "return math.floor(Fraction(epsilon) * NANO)",
        (LEDGER + "a_cost_is_the_epsilon_rounded_up",),
    ),
    Fault(
        "deltas are not added up",
        "deniable/_storage/cost.py",
        "delta = delta_units(spec.mechanism.delta)",
        "delta = 0",
        ("client/disclosure/test_disclosure.py::test_the_deltas_of_all_reports_are_added_up",),
    ),
    Fault(
        "a clock that goes back refills the day's budget",
        "deniable/_storage/ledger.py",
        "if epoch > latest:\n            latest, today = epoch, 0",
        "if epoch != latest:\n            latest, today = epoch, 0",
        (LEDGER + "a_clock_that_goes_back_frees_neither_period_nor_budget",),
    ),
    Fault(
        "a day that a clock charged while it was ahead begins afresh when it comes",
        "deniable/_recording/charged_days.py",
        "silent = any(last > latest and first <= today for first, last in days.runs)",
        "silent = False",
        (CLOCKS + "charged_days.py::test_no_history_of_clocks_spends_more_than_the_budgets_allow",),
    ),
    Fault(
        "giving up a latest day that lies ahead begins today with a whole budget",
        "deniable/_recording/day_keeper.py",
        "silent = self._day_nano_nats if step.silent else None",
        "silent = 0 if step.silent else None",
        (CLOCKS + "clock.py::test_on_the_silent_day_the_budget_counts_as_spent",),
    ),
    Fault(
        "a clock that begins in 1970 is believed",
        "deniable/_clock.py",
        "if not EARLIEST_DAY <= epoch_at(now) < LATEST_DAY:",
        "if not epoch_at(now) < LATEST_DAY:",
        (CLOCKS + "clock.py::test_once_survives_a_start_in_1970",),
    ),
    Fault(
        "a clock that jumps is believed at the second look, however soon",
        "deniable/_clock.py",
        "if elapsed - jump[1] < DOUBT_SECONDS:",
        "if elapsed < jump[1]:",
        (CLOCKS + "clock.py::test_after_a_jump_nothing_is_recorded_or_sent_until_a_second_look",),
    ),
    Fault(
        "a registry may lift the ceiling of a day",
        "deniable/_recording/report_writer.py",
        "limit_nano_nats(min(budget.epsilon_per_day, MAX_EPSILON_PER_DAY))",
        "limit_nano_nats(budget.epsilon_per_day)",
        ("client/recording/test_client.py::test_no_registry_lifts_the_ceiling_of_the_budget",),
    ),
)

TRACES: Final = (
    Fault(
        "a refused value stands in the log",
        "deniable/_recording/recorder.py",
        'self._events.problem("outside_domain", problem)',
        'self._events.problem("outside_domain", f"{problem}: {value!r}")',
        ("client/recording/test_client.py::test_the_value_is_nowhere_on_disk_in_logs_or_in_words",),
    ),
    Fault(
        "a refused value stands in the exception",
        "deniable/_recording/recorder.py",
        "raise RecordError(Outcome.OUTSIDE_DOMAIN, problem)",
        'raise RecordError(Outcome.OUTSIDE_DOMAIN, f"{problem}: {value!r}")',
        (
            "client/recording/test_strict.py"
            "::test_the_value_is_in_no_message_no_chain_and_no_frame_of_the_client",
        ),
    ),
    Fault(
        "the number of the item is kept beside the description of its metric",
        "deniable/_recording/report_writer.py",
        "self.store(plan, upload_id, day",
        'plan.description += f" {item}"\n            self.store(plan, upload_id, day',
        (DIRECTORY + "[rr]",),
    ),
    Fault(
        "deleted reports are not overwritten",
        "deniable/_storage/journal.py",
        "erase(self._old)\n",
        "self._old.unlink()\n",
        ("client/lifecycle/test_lifetime.py::test_the_old_secret_is_overwritten_in_place",),
    ),
    Fault(
        "delivered memoised reports are remembered",
        "deniable/_storage/spool.py",
        "payload = None if memoized else report.payload",
        "payload = report.payload",
        (STOLEN + "after_delivery_a_directory_is_the_same_whatever_the_value",),
    ),
    Fault(
        "memoised reports wait as long as others",
        "deniable/_recording/metric_plan.py",
        "self.delay_seconds = min(self.delay_seconds, MAX_MEMOIZED_DELAY_SECONDS)",
        "self.delay_seconds = min(self.delay_seconds, MAX_MEMOIZED_DELAY_SECONDS * 24)",
        (STOLEN + "a_memoised_report_waits_for_an_hour_at_most",),
    ),
    Fault(
        "a report is stored after consent was withdrawn",
        "deniable/_recording/recorder.py",
        "if not self._consent.still_given():\n            # Consent",
        "if not self._consent.given:\n            # Consent",
        (
            "client/lifecycle/test_remembered_consent.py"
            "::test_a_refusal_in_another_process_ends_consent_before_anything_more_is_stored",
        ),
    ),
)

NETWORK: Final = (
    Fault(
        "the segment is sent as it is, beside a noisy value",
        "deniable/_recording/report_writer.py",
        "payload = plan.randomizer.report(item, storage.secret)\n",
        "payload = plan.randomizer.report(item, storage.secret)\n"
        "            if plan.spec.segments is not None:\n"
        "                own = plan.spec.segments.of.size\n"
        "                payload = bytes([item // own * own + payload[0] % own])\n",
        (SENT + "[segments]",),
    ),
    Fault(
        "the id of an upload is the same for all of a metric",
        "deniable/_recording/report_writer.py",
        "self.store(plan, upload_id, day",
        "self.store(plan, (storage.secret + plan.spec.digest)[16:32], day",
        (
            SENT + "[rr]",
            "client/upload/test_nothing_identifies.py::test_no_byte_of_a_request_is_a_name_of_the_device",
        ),
    ),
    Fault(
        "a retry has another id",
        "deniable/_storage/stored_report.py",
        "wire.Upload(self.upload_id, (part,))",
        'wire.Upload(__import__("os").urandom(16), (part,))',
        ("client/upload/test_uploader.py::test_bytes_are_identical_in_a_later_process",),
    ),
    Fault(
        "reports leave in the order of recording",
        "deniable/_upload/rounds.py",
        "return sorted(items, key=lambda _: os.urandom(_KEY_BYTES))",
        "return list(items)",
        ("client/upload/test_order.py::test_every_order_is_exactly_as_likely_as_any_other",),
    ),
    Fault(
        "the first of several late reports leaves first",
        "deniable/_upload/rounds.py",
        'return items[int.from_bytes(os.urandom(_KEY_BYTES), "big") % len(items)]',
        "return items[0]",
        ("client/upload/test_order.py::test_every_report_is_exactly_as_likely_to_be_the_next",),
    ),
    Fault(
        "the delay is always the longest, so an upload tells the minute",
        "deniable/_recording/metric_plan.py",
        "return longest_seconds * randomness.word() / _DELAY_STEPS",
        "return longest_seconds",
        (SENT + "[rr]",),
    ),
    Fault(
        "the delay is one of sixteen, so an upload tells the minute",
        "deniable/_recording/metric_plan.py",
        "randomness.word() / _DELAY_STEPS",
        "(randomness.word() >> 28 << 28) / _DELAY_STEPS",
        (SENT + "[rr]",),
    ),
    Fault(
        "a long text is sent later, so the delay tells its length",
        "deniable/_recording/report_writer.py",
        "due += self.draw_delay",
        "due += (1 + (isinstance(item, bytes) and len(item) > 100)) * self.draw_delay",
        (SENT + "[cms]",),
    ),
    Fault(
        "uploads are padded to 16 bytes, so their length tells the metric",
        "deniable_shared/wire.py",
        "SMALLEST_PAD_BYTES: Final = 256",
        "SMALLEST_PAD_BYTES: Final = 16",
        (
            "shared/test_wire.py"
            "::test_reports_of_different_mechanisms_have_the_same_length_on_the_wire",
        ),
    ),
    Fault(
        "the User-Agent names the process",
        "deniable/_transport/http.py",
        '"User-Agent": USER_AGENT,',
        '"User-Agent": f"{USER_AGENT} ({os.getpid()})",',
        (
            "client/upload/test_nothing_identifies.py"
            "::test_the_head_of_every_request_is_these_bytes_whatever_the_server_answered",
        ),
    ),
    Fault(
        "any valid certificate will do",
        "deniable/_transport/http.py",
        "context.minimum_version = ssl.TLSVersion.TLSv1_2",
        "context.check_hostname = False",
        ("client/transport/test_tls.py::test_a_certificate_for_another_host_is_refused",),
    ),
    Fault(
        "a day without a value is not reported",
        "deniable/_recording/absence.py",
        "recorded = self._report_absence(metric, last, epoch) or recorded",
        "pass",
        (
            "client/recording/test_absence.py"
            "::test_a_day_without_a_value_is_reported_once_on_the_next_day",
        ),
    ),
    Fault(
        "a value leaves before the day is over, its absence after",
        "deniable/_recording/recorder.py",
        "day, since = plan.period_end(epoch)",
        "day, _ = plan.period_end(epoch)",
        (
            "client/recording/test_absence.py"
            "::test_day_and_time_do_not_tell_a_value_from_its_absence",
        ),
    ),
    Fault(
        "a configuration needs no valid signature",
        "deniable/_remote/configuration.py",
        "if not verify(self._key, CONTEXT + payload, signature):",
        "if not signature:",
        (
            "client/remote/test_configuration.py"
            "::test_a_bad_document_is_refused_counted_and_changes_nothing",
        ),
    ),
)

AREAS: Final = {
    "Noise": NOISE,
    "Randomness": RANDOMNESS,
    "Memoised answers": MEMOISED,
    "Budget": BUDGET,
    "Several values of a period": PICKED,
    "What is left on the device": TRACES,
    "What leaves the device": NETWORK,
    "Through a relay": RELAYED,
    "What strikes few": FEW,
}
FAULTS: Final = tuple(fault for faults in AREAS.values() for fault in faults)
