from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from deniable_shared.letters import PhraseModel, shipped_model
from tests.command_line import deniable

PLACES = ["home", "search", "cart", "orders", "account", "settings", "help", "reviews"]
ROUTES = [f"/shop/{a}/{b}-{c}" for a in PLACES for b in PLACES for c in ("list", "item", "edit")]


def run(tmp_path, *options, lines=ROUTES):
    file = tmp_path / "routes.txt"
    file.write_text("".join(f"{line}\n" for line in lines))
    out = tmp_path / "routes.model"
    return CliRunner().invoke(deniable, ["model", "train", str(file), "--out", str(out), *options])


def bits(model, text):
    return model.length(text.encode())


def test_strings_like_the_examples_take_fewer_bits(tmp_path):
    result = run(tmp_path, "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.output)
    model = PhraseModel((tmp_path / "routes.model").read_bytes())
    assert answer["strings"] == 192
    assert answer["model_digest"] == model.digest.hex()
    assert answer["bits_left_out"] == model.left_out._asdict()
    assert answer["bits_left_out"]["half"] < 0.8 * answer["bits_of_shipped_model"]["half"]
    assert answer["longest_bits"] == answer["bits_left_out"]["nearly_all"]
    assert bits(model, "/shop/help/orders-edit") < 0.6 * bits(
        shipped_model(), "/shop/help/orders-edit"
    )


def test_phrases_are_printed_and_what_looks_like_somebodys_is_pointed_out(tmp_path):
    output = run(tmp_path).output
    assert "settings" in output
    assert "Warning" not in output
    own = [f"/home/jane/{route}" for route in ROUTES] + [f"{route}4711471147" for route in ROUTES]
    warned = " ".join(run(tmp_path, lines=own).output.split())
    assert re.search(r"hold what looks like a folder of a user: '/home/jane", warned)
    assert re.search(r"what looks like a number of six or more digits: '\S*471147", warned)


def test_the_answer_says_what_goes_into_the_registry_and_what_never_to_train_on(tmp_path):
    output = run(tmp_path).output
    digest = PhraseModel((tmp_path / "routes.model").read_bytes()).digest.hex()
    assert f'model = "routes.model"\n  model_digest = "{digest}"\n  longest_bits = ' in output
    assert "never on what users recorded" in " ".join(output.split())


def test_the_same_examples_make_the_same_model_in_any_order(tmp_path):
    first = run(tmp_path).output
    assert run(tmp_path, lines=ROUTES[::-1]).output == first


def test_counts_say_how_often_a_string_comes(tmp_path):
    run(tmp_path, lines=[f"{route}\t{1 + 999 * (route == ROUTES[7])}" for route in ROUTES])
    counted = PhraseModel((tmp_path / "routes.model").read_bytes())
    run(tmp_path)
    assert bits(counted, ROUTES[7]) < bits(
        PhraseModel((tmp_path / "routes.model").read_bytes()), ROUTES[7]
    )


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "strings of FILE must be at least 50 different ones, got 0"),
        (b"one\ntwo\n", "strings of FILE must be at least 50 different ones, got 2"),
        (
            b"one\ncaf\xe9\n",
            "routes.txt must be UTF-8 text; save the file as UTF-8, got 'byte 0xe9 in line 2'",
        ),
        (
            b"one\tmany\n",
            r"routes.txt:1 must be a string, or a string, a tab and a count, got 'one\tmany'",
        ),
    ],
)
def test_what_cannot_be_trained_on_is_refused(tmp_path, body, problem):
    file = tmp_path / "routes.txt"
    file.write_bytes(body)
    result = CliRunner().invoke(
        deniable, ["model", "train", str(file), "--out", str(tmp_path / "x")]
    )
    assert result.exit_code == 1
    assert problem in re.sub(r"\s*\n\s*", " ", result.output)
    assert not (tmp_path / "x").exists()
