from __future__ import annotations

import json
import random
import re

import pytest
from click.testing import CliRunner

from deniable_shared.letters import PhraseModel, shipped_model
from tests.command_line import deniable

PLACES = ["home", "search", "cart", "orders", "account", "settings", "help", "reviews"]
ROUTES = [f"/shop/{a}/{b}-{c}" for a in PLACES for b in PLACES for c in ("list", "item", "edit")]

WORDS = """
about again because before between children city country different early earth
enough every example family father found friend group head high house important kind
large learn letter light little money morning mother mountain night number often other paper
people picture place plant point question river school second sentence small something spell
story together tree under water white without word world year young"""


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
    assert re.search(r"what looks like a number of six or more digits: '[^']*471147", warned)


def names(families):
    return [f"{each} {version}.0" for each in families for version in range(8)]


def test_the_shipped_model_does_as_well_only_where_it_does(tmp_path):
    letters = random.Random(3)
    families = ["".join(letters.choices("bdfgklmnprstaeiou", k=10)) for _ in range(24)]
    helps = " ".join(run(tmp_path, lines=names(families)).output.split())
    assert "The shipped model does as well" not in helps
    assert "Only strings that begin like an example take fewer bits" in helps
    least = int(re.search(r"else, longest_bits = (\d+) is enough", helps).group(1))
    model = PhraseModel((tmp_path / "routes.model").read_bytes())
    assert max(bits(model, f"{family} 8.0") for family in families) <= least
    assert "The shipped model does as well" in run(tmp_path, lines=WORDS.split()).output
    assert "does as well" not in run(tmp_path).output


def test_of_phrases_within_others_only_the_outermost_are_printed(tmp_path):
    longest = json.loads(run(tmp_path, "--json").output)["longest"]
    assert not any(one in other and one != other for one in longest for other in longest)


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
