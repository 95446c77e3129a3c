"""Strings that are discovered: what a registry says of them, and where their model is."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import pytest

from deniable_shared import registry
from deniable_shared.errors import DomainError, ParameterError, RegistryError
from deniable_shared.letters import LetterCode, shipped_model
from deniable_shared.letters.code import MAX_LONGEST
from deniable_shared.letters.writing import model_file
from deniable_shared.mechanisms import Trie
from deniable_shared.registry import discovery
from deniable_shared.spec import Spec

HEAD = """\
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4
epsilon_lifetime = 40
[metrics.query]
type = "string"
epsilon = 4
"""
MODEL = model_file([0], {}, [bytes([8] * 255 + [9, 9])])
DIGEST = hashlib.sha256(MODEL).hexdigest()
OWN = f'{HEAD}discover = true\nmodel = "search.model"\nmodel_digest = "{DIGEST}"\n'


def query(fields, **options):
    return registry.parse(HEAD + fields, **options).metrics["query"]


def problem(text, **options):
    with pytest.raises(RegistryError) as caught:
        registry.parse(text, **options)
    (sentence,) = caught.value.problems
    return sentence.partition("metrics.query.")[2]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "search.model").write_bytes(MODEL)
    (tmp_path / "metrics.toml").write_text(OWN, encoding="utf-8")
    return tmp_path


def test_without_further_fields_strings_are_text_of_ten_characters():
    metric = query("discover = true\n")
    assert metric.spec.letters == LetterCode("text", 10, shipped_model())
    assert metric.spec.mechanism.levels == metric.spec.letters.levels == 4
    assert metric.minimum_devices == 100
    assert metric.spec.canonical()["letters"]["model"] == "words"


@pytest.mark.parametrize(
    ("fields", "levels"),
    [
        ("longest = 26", 10),
        ('alphabet = "hex"\nlongest = 16', 4),
        ('alphabet = "digits"\nlongest = 4', 1),
        ('alphabet = "ACGT"\nlongest = 20', 3),
    ],
)
def test_levels_follow_from_what_strings_consist_of(fields, levels):
    assert query(f"discover = true\n{fields}\n").spec.mechanism.levels == levels


def test_a_spec_survives_its_canonical_form():
    spec = query("discover = true\n").spec
    again = Spec.from_canonical(json.loads(json.dumps(spec.canonical())))
    assert again == spec
    assert again.digest == spec.digest


def test_a_code_that_does_not_fit_its_mechanism_is_refused():
    """A piece that is no item of its oracle would have another epsilon than the stated one."""
    spec, other = query("discover = true\n").spec, query("").spec
    for wrong in (
        {"letters": None},
        {"letters": LetterCode("text", 26, shipped_model())},
        {"mechanism": other.mechanism},
        {"mechanism": Trie.for_epsilon(3, Fraction(4))},
        {"mechanism": Trie.for_epsilon(4, Fraction(4), first_bits=19)},
        {"mechanism": Trie.for_epsilon(4, Fraction(4), deeper_bits=15)},
    ):
        with pytest.raises(ParameterError, match=r"^(letters|mechanism) must be (given|over)"):
            replace(spec, **wrong)
    with pytest.raises(ParameterError, match=r"^letters must be given with trie, and only then"):
        replace(other, letters=spec.letters)


@pytest.mark.parametrize(
    "letters",
    [
        *("words", None, [], {}, {"code": 1}),
        {"code": 2, "alphabet": "text", "longest": 10, "model": "words"},
        {"code": 3, "alphabet": "text", "longest": 10, "model": "words"},
        {"code": 1, "alphabet": "text", "longest": 10, "model": 5},
        {"code": 1, "alphabet": "text", "longest": 10, "model": "no base64"},
        {"code": 1, "alphabet": "text", "longest": 10, "model": "AAAA"},
        {"code": 1, "alphabet": ["a", "b"], "longest": 10, "model": "words"},
        {"code": 1, "alphabet": "text", "longest": "10", "model": "words"},
    ],
)
def test_data_that_is_no_code_is_refused(letters):
    data = query("discover = true\n").spec.canonical()
    with pytest.raises(ParameterError):
        Spec.from_canonical({**data, "letters": letters})


def test_minimum_devices_makes_no_new_version_and_the_code_does():
    plain = query("discover = true\n")
    fewer = query("discover = true\nminimum_devices = 20\n")
    assert (fewer.minimum_devices, fewer.spec.digest) == (20, plain.spec.digest)
    others = ("longest = 11", 'alphabet = "hex"')
    digests = {query(f"discover = true\n{other}\n").spec.digest for other in others}
    assert len(digests | {plain.spec.digest, query("").spec.digest}) == 4


def test_discover_false_is_a_metric_whose_strings_are_looked_for():
    assert query("discover = false\n").spec == query("").spec
    assert query("").minimum_devices is None


def test_a_model_is_read_from_beside_the_registry(folder):
    spec = registry.load(folder / "metrics.toml").metrics["query"].spec
    assert spec.letters.model.body == MODEL
    assert Spec.from_canonical(spec.canonical()) == spec
    assert spec.digest != query("discover = true\n").spec.digest


def test_a_registry_that_is_sent_carries_its_models(folder):
    sent = registry.with_models(OWN.encode(), folder)
    assert sent.startswith(OWN.encode())
    assert registry.parse(sent.decode()) == registry.load(folder / "metrics.toml")
    assert registry.with_models(sent, folder) == sent


def test_a_registry_without_models_is_sent_as_it_is(folder):
    for text in (HEAD, "no TOML [", "metrics = 3", "metrics.query = 3", OWN + "[models]\n"):
        assert registry.with_models(text.encode(), folder) == text.encode()
    assert registry.with_models(b"\xff", folder) == b"\xff"


def test_a_registry_whose_model_is_missing_is_not_sent(tmp_path):
    with pytest.raises(
        RegistryError, match=r"model must be a file .* \(No such file or directory\)"
    ):
        registry.with_models(OWN.encode(), tmp_path)


def test_without_its_file_a_model_is_asked_for_with_what_to_do():
    assert problem(OWN) == (
        "model must be in a file beside the registry: read the registry from its file, register "
        "it with `deniable metrics register FILE`, or pass parse() its folder, got 'search.model'"
    )


def test_another_file_than_the_registry_means_is_refused_with_both_digests(folder):
    (folder / "search.model").write_bytes(MODEL + b"!")
    found = hashlib.sha256(MODEL + b"!").hexdigest()
    sentence = problem(OWN, folder=folder)
    assert (
        sentence == f"model_digest must be {found}, the SHA-256 of the model file, got '{DIGEST}'"
    )


@pytest.mark.parametrize("name", ["../search.model", "/etc/passwd", ".hidden", "a/b", "", "a b"])
def test_a_model_is_in_the_folder_of_the_registry(folder, name):
    sentence = problem(OWN.replace("search.model", name), folder=folder)
    assert sentence.startswith("model must be text matching")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "must be a"),
        (b"\x00" * 200, "must be a"),
        (MODEL[:-3], "must be a"),
        (MODEL + b"\x00", "must be a"),
        (b"\x00" * (discovery.MAX_MODEL_BYTES + 1), "must be a file of at most 131,072 bytes"),
    ],
)
def test_a_broken_model_is_a_problem_of_the_registry(folder, body, words):
    (folder / "search.model").write_bytes(body)
    sentence = problem(OWN.replace(DIGEST, hashlib.sha256(body).hexdigest()), folder=folder)
    assert sentence.startswith(f"model {words}")


@pytest.mark.parametrize(
    ("fields", "problems"),
    [
        ('discover = "yes"', "discover must be true or false, got 'yes'"),
        (
            "discover = true\nlongest = 65",
            f"longest must be an integer in [1, {MAX_LONGEST}], got 65",
        ),
        ("minimum_devices = 9", "minimum_devices must be left out without discover = true, got 9"),
        (
            'discover = true\nalphabet = "aa"',
            "alphabet must be text, hex, digits or 2 to 128 different characters, got 'aa'",
        ),
        (
            f'discover = true\nmodel_digest = "{DIGEST}"',
            f"model_digest must be given with model, and only then, got '{DIGEST}'",
        ),
    ],
)
def test_what_does_not_fit_is_named(fields, problems):
    assert problem(HEAD + fields) == problems


def test_only_texts_are_recorded_and_any_text_is():
    spec = query("discover = true\n").spec
    for value in (3, b"bytes", None, True):
        with pytest.raises(DomainError, match=r"^query takes a str;"):
            spec.encode(value)
    for text in ("", "\ud800", "x" * 10_000, "é" * 5_000, "\0", "𝔘" * 2_000):
        pieces = spec.encode(text)
        assert 1 <= len(pieces) <= 4
        assert pieces[0] < 1 << 20
        assert all(piece < 1 << 16 for piece in pieces[1:])
    assert spec.encode("x" * 10_000) == spec.encode("x" * 4_096)
    assert spec.encode("cafe\u0301") == spec.encode("café")


@pytest.mark.service
@pytest.mark.parametrize(("fields", "loaded"), [("", "False"), ("discover = true", "True")])
def test_only_a_registry_with_such_a_metric_loads_the_code(tmp_path, fields, loaded):
    (tmp_path / "metrics.toml").write_text(HEAD + fields, encoding="utf-8")
    program = (
        "import sys, deniable, deniable.randomizers; from deniable_shared.registry import load; "
        "load(sys.argv[1]); print('deniable_shared.letters' in sys.modules)"
    )
    path = str(tmp_path / "metrics.toml")
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, check=True)
    assert done.stdout.decode().strip() == loaded
