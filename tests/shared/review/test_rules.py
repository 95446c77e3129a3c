"""Each finding is made where it should be, not made beside it, and can be ignored."""

from __future__ import annotations

import pytest

from deniable_shared.errors import RegistryError
from deniable_shared.registry.finding_codes import METRIC_CODES, REGISTRY_CODES
from deniable_shared.review import review
from deniable_shared.review.metric_rules import METRIC_RULES
from tests.shared.review.registries import FLAG, MEMOIZED, SINGLES_OUT, category, registry
from tests.shared.review.test_relay_rules import OF_RELAYS

WORD = 'type = "string"\nepsilon = 1\n'
COMPLETE = 'type = "category"\nvalues = ["light", "dark"]\nepsilon = 1\ncomplete = true\n'
CHANNEL = 'segment = {{ name = "channel", values = [{}], {} }}\n'
FINE = CHANNEL.format(", ".join(f'"{number}"' for number in range(40)), 'other = "rest"')
COARSE = CHANNEL.format('"stable", "beta"', 'other = "rest"')
GAUSSIAN = 'type = "number"\nrange = [0, 1]\nepsilon = 1\nmechanism = "gaussian"\n'
RAPPOR = f'{WORD}repeat = "memoize"\nmechanism = "rappor"\n'
RECORD = 'type = "attributes"\nepsilon = 1\n[metrics.m.attributes]\nlate = "boolean"\n'
ABSENT = 'type = "category"\nvalues = ["a", "b"]\nabsent = "none"\nepsilon = 1\n'
CRASH = f'{FLAG}description = "Whether the editor crashed"\n'
COMMAND = f'{WORD}description = "Which command was run"\n'
FAILURES = 'type = "number"\nrange = [0, 9]\nepsilon = 1\ndescription = "Failures of a save"\n'

SECONDS = 'type = "number"\nrange = [0, 9]\nepsilon = 1\n'
BINS = SECONDS.replace("number", "distribution")

LOSUE = f'{MEMOIZED}mechanism = "losue"\n'

FOUND_OR_NOT = [
    ("silence-tells", COMPLETE, category(3)),
    ("silence-tells", COMPLETE, ABSENT),
    ("silence-tells", category(3, CHANNEL.format('"a", "b"', "complete = true")), FLAG),
    (
        "silence-tells",
        RECORD + 'gate = { values = ["A", "B"], complete = true }\n',
        RECORD + 'gate = { values = ["A", "B"], other = "another" }\n',
    ),
    ("events-only", f'{FLAG}description = "It crashed"\n', FLAG),
    ("events-only", f'{CRASH}every = "week"\n', f'{CRASH}every = "once"\n'),
    ("events-only", CRASH, f"{CRASH}absent = false\n"),
    ("events-only", FAILURES, f"{FAILURES}absent = 0\n"),
    ("events-only", FAILURES, FAILURES.replace("Failures", "Seconds")),
    ("events-only", CRASH, f'{WORD}description = "Why it crashed"\n'),
    ("first-value", COMMAND, f'{COMMAND}pick = "random"\n'),
    ("first-value", COMMAND, f'{COMMAND}every = "once"\n'),
    ("first-value", COMMAND, f"{COMMAND}{MEMOIZED}"),
    ("first-value", f'{COMMAND}pick = "first"\n', WORD),
    ("first-value", COMMAND, f'{FLAG}description = "Whether a command was run"\n'),
    ("first-value", COMMAND, FAILURES.replace("Failures", "Errors")),
    ("free-text", f'{WORD}description = "A comment of the user"\n', WORD),
    ("free-text", f'{WORD}description = "Free text"\n', category(4)),
    ("free-text", f'{WORD}description = "A free-form field"\n', WORD),
    ("free-text", f'{WORD}description = "Nicknames"\n', WORD),
    ("free-text", f'{WORD}description = "What was typed"\n', f'{WORD}description = "The type"\n'),
    ("free-text", f'{WORD}description = "The user\'s e-mail"\n', FLAG),
    ("identifier", f'{WORD}description = "The serial number"\n', FLAG),
    ("quasi-identifier", f'{WORD}description = "A zip code"\n', WORD),
    (
        "quasi-identifier",
        category(8) + 'description = "Birthday"\n',
        category(6) + 'description = "How long before a birthday it reminds"\n',
    ),
    (
        "quasi-identifier",
        RECORD + 'birth_year = { values = ["1980", "1990"], other = "another" }\n',
        RECORD + 'channel = { values = ["stable", "beta"], other = "another" }\n',
    ),
    (
        "small-segments",
        category(3, CHANNEL.format('"a", "b"', 'other = "c"') + "expected_devices = 2000\n"),
        category(3, CHANNEL.format('"a", "b"', 'other = "c"') + "expected_devices = 3000\n"),
    ),
    ("unused-budget", f'{FLAG}every = "once"\n', FLAG),
    (
        "changing-memoized",
        f'{FLAG}{MEMOIZED}description = "Whether it crashed"\n',
        FLAG + MEMOIZED,
    ),
    ("large-epsilon", category(4, epsilon=4.1), category(4, epsilon=4)),
    ("segments-too-fine", category(20, FINE), category(3, COARSE)),
    ("changing-memoized", ABSENT + MEMOIZED, ABSENT),
    ("changing-memoized", ABSENT + MEMOIZED, ABSENT.replace("absent", "other") + MEMOIZED),
    ("no-description", f'{FLAG}description = " "\n', FLAG),
    (
        "linkable-reports",
        RAPPOR.replace("epsilon = 1", "epsilon = 8") + "epsilon_permanent = 8.1\n",
        RAPPOR + "epsilon_permanent = 8\n",
    ),
    ("linkable-reports", f'{WORD}{MEMOIZED}mechanism = "sketch"\n', WORD + MEMOIZED),
    ("linkable-reports", f"{WORD}{MEMOIZED}expected_devices = 1_000\n", WORD + MEMOIZED),
    ("linkable-reports", category(300, LOSUE), category(100, LOSUE)),
    ("adds-up", category(1_000, epsilon=4) + "expected_devices = 100\n", category(1_000)),
    ("yearly-delta", GAUSSIAN + "delta = 1e-6\n", GAUSSIAN + "delta = 1e-7\n"),
    (
        "small-classes",
        f"{RAPPOR}epsilon_permanent = 4\nexpected_devices = 600\n",
        f"{RAPPOR}epsilon_permanent = 4\nexpected_devices = 700\n",
    ),
]


def codes(found):
    return {finding.code for finding in found.findings}


@pytest.mark.parametrize(("code", "bad", "good"), FOUND_OR_NOT)
def test_a_finding_is_made_where_it_should_be_and_not_beside_it(code, bad, good):
    assert code in codes(review(registry(("m", bad))))
    assert code not in codes(review(registry(("m", good))))


@pytest.mark.parametrize(
    ("code", "limits", "enough"),
    [
        ("daily-budget", {"day": 1.5}, {"day": 2}),
        ("lifetime-budget", {"life": 729}, {"life": 730}),
    ],
)
def test_budgets_that_will_silence_devices_are_found(code, limits, enough):
    """Two flags of 1 a day."""
    flags = ("one", FLAG), ("other", FLAG)
    scale = 0.5 if "life" in limits else 1
    flags = tuple((name, text.replace("= 1", f"= {scale}")) for name, text in flags)
    limits, enough = (
        {key: value * scale for key, value in each.items()} for each in (limits, enough)
    )
    assert code in codes(review(registry(*flags, **limits)))
    assert code not in codes(review(registry(*flags, **enough)))


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        (("home", RAPPOR + "epsilon_permanent = 4\n"), ("home_host", WORD), True),
        (("home", WORD), ("home_host", WORD), False),
        (("home", RAPPOR + "epsilon_permanent = 4\n"), ("search", WORD), False),
        (("theme", category(6, MEMOIZED)), ("colours", category(6)), True),
        (("theme", category(3, MEMOIZED)), ("colours", category(3)), False),
        (("dark", FLAG + MEMOIZED), ("crashed", FLAG), False),
        (("save_time", SECONDS), ("save_ms", BINS), True),
        (("save_size", SECONDS), ("save_ms", BINS), False),
        (("save_time", SECONDS), ("save_seconds", SECONDS), False),
    ],
)
def test_a_value_that_is_asked_for_twice_is_found(one, other, found):
    """What one metric's permanent answers hide, the other's reports tell."""
    assert ("repeated-value" in codes(review(registry(one, other)))) == found


DEFAULTS = (
    ("boolean", ""),
    ("category", f"values = {[*map(str, range(64))]}\ncomplete = true\n"),
    ("string", ""),
    ("number", "range = [0, 30]\n"),
    ("distribution", "range = [0, 30]\n"),
)


@pytest.mark.parametrize(("kind", "fields"), DEFAULTS)
@pytest.mark.parametrize(("epsilon", "permanent"), [(0.5, 1), (1, 2), (1, 4), (2, 4)])
def test_what_is_chosen_where_no_mechanism_is_named_links_few_reports(
    kind, fields, epsilon, permanent
):
    lines = f'type = "{kind}"\n{fields}repeat = "memoize"\nepsilon = {epsilon}\n'
    found = review(registry(("m", f"{lines}epsilon_permanent = {permanent}\n")))
    assert "linkable-reports" not in codes(found)


def test_more_memoised_values_than_that_need_a_mechanism():
    """So nothing that is chosen for an author is linked; a string of the same values is not."""
    with pytest.raises(RegistryError, match=r"at most 64.* got 65"):
        registry(("m", category(65, MEMOIZED)))
    registry(("m", category(65, LOSUE)))


def test_a_finding_of_linkable_reports_says_how_often_they_are_matched():
    lines = f'{WORD}{MEMOIZED}mechanism = {{ name = "sketch", buckets = 64 }}\n'
    (found,) = (
        each
        for each in review(registry(("m", f"{lines}expected_devices = 10_000\n"))).findings
        if each.code == "linkable-reports"
    )
    assert (
        "among 10,000 devices a second report is told to be the same device's in 16% of cases, "
        "and an eighth, if seven are known, in 66% of cases"
    ) in found.reason


BEFORE = category(4, MEMOIZED)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (BEFORE, BEFORE.replace("epsilon = 1", "epsilon = 0.9"), True),
        (BEFORE, f'{BEFORE}every = "month"\n', True),
        (BEFORE, BEFORE.replace(MEMOIZED, ""), True),
        (BEFORE, f'{BEFORE}description = "Another"\nexpected_devices = 10\n', False),
        (BEFORE.replace(MEMOIZED, ""), BEFORE, False),
        (WORD + MEMOIZED, f"{WORD}{MEMOIZED}expected_devices = 10_000_000\n", False),
    ],
)
def test_an_edit_that_has_permanent_answers_drawn_anew_is_found(old, new, found):
    """More expected devices are no such edit: they change no memoised metric."""
    before, after = registry(("m", old)), registry(("m", new))
    assert ("permanent-anew" in codes(review(after, before=before))) == found
    assert "permanent-anew" not in codes(review(after))
    assert "permanent-anew" not in codes(review(registry(("other", new)), before=before))


def test_a_good_registry_has_no_findings():
    flag = f'{FLAG}absent = false\nevery = "week"'
    good = registry(("theme", category(4, 'every = "week"')), ("crashed", flag))
    assert review(good).findings == review(good).ignored == ()


def test_what_is_ignored_is_listed_as_ignored_and_nothing_else_is():
    lines = category(4, epsilon=5) + 'ignore = ["large-epsilon"]\n'
    found = review(registry(("one", lines), ("other", category(4, epsilon=5))))
    assert [(each.code, each.metric) for each in found.ignored] == [("large-epsilon", "one")]
    assert ("large-epsilon", "other") in [(each.code, each.metric) for each in found.findings]


def test_at_the_top_of_the_file_a_code_is_ignored_of_all_metrics_together_and_of_each():
    bad = [(name, f"{text}expected_devices = 10\n") for name, text in SINGLES_OUT]
    found = review(
        registry(
            *bad, ("big", category(4, epsilon=5)), top='ignore = ["adds-up", "large-epsilon"]\n'
        )
    )
    assert codes(found) & {"adds-up", "large-epsilon"} == set()
    assert {each.code for each in found.ignored} == {"adds-up", "large-epsilon"}


def test_what_is_ignored_is_no_part_of_a_version():
    ignoring = registry(("m", f'{FLAG}ignore = ["no-description"]\n'))
    assert ignoring.metrics["m"].spec.digest == registry(("m", FLAG)).metrics["m"].spec.digest


@pytest.mark.parametrize(
    ("where", "code", "said"),
    [
        ("m", "larg-epsilon", "Did you mean 'large-epsilon'?"),
        ("m", "adds-up", "give it at the top of the file"),
        ("top", "add-up", "Did you mean 'adds-up'?"),
        ("top", "nonsense\x1b[2J", "without control"),
    ],
)
def test_an_unknown_code_is_a_problem_that_names_the_nearest(where, code, said):
    line = f'ignore = ["{code}"]\n'.replace("\x1b", "\\u001b")
    with pytest.raises(RegistryError) as raised:
        registry(("m", FLAG + (line if where == "m" else "")), top=line if where == "top" else "")
    assert said in str(raised.value)
    assert "\x1b" not in str(raised.value)


def test_every_code_that_can_be_ignored_is_one_that_is_found():
    tried = {code for code, _, _ in FOUND_OR_NOT}
    tried |= {"daily-budget", "lifetime-budget", "permanent-anew", "rare-pairs", "repeated-value"}
    tried |= {"levels-unlike-model"}  # needs a model: tests/shared/letters/test_left_out.py
    tried |= OF_RELAYS
    assert tried == {*METRIC_CODES, *REGISTRY_CODES}
    assert {*METRIC_RULES, "memoized-relay", "no-crowd", "permanent-anew", "repeated-value"} == {
        *METRIC_CODES
    }
