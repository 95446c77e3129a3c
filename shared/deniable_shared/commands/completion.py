"""Completion of command lines by bash, zsh and fish.

``_DENIABLE_COMPLETE=bash_source deniable`` prints a program for the shell. It runs
``_DENIABLE_COMPLETE=words deniable WORD...`` with the words that were typed; the last of them is to
be completed, and may be empty. That prints a line for each possible word: the word, a tabulator and
what it means; or it exits with status 1 if a file name is expected.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from deniable_shared.commands.table import COMMANDS, find_command, names_after
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.commands.parser import Parser

_BASH: Final = r"""
_deniable() {
    local lines word meaning
    COMPREPLY=()
    if lines=$(_DENIABLE_COMPLETE=words deniable "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); then
        while IFS=$'\t' read -r word meaning; do
            [ -n "$word" ] && printf -v word %q "$word" && COMPREPLY+=("$word")
        done <<<"$lines"
    else
        compopt -o default  # file names
    fi
}
complete -o nosort -F _deniable deniable
"""
_ZSH: Final = r"""
#compdef deniable
_deniable() {
    local lines line
    local -a described
    if lines=$(_DENIABLE_COMPLETE=words deniable "${(@)words[2,CURRENT]}" 2>/dev/null); then
        for line in ${(f)lines}; do
            described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
        done
        _describe -V deniable described
    else
        _files
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _deniable "$@"
else
    compdef _deniable deniable
fi
"""
_FISH: Final = r"""
function _deniable
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    if set -l lines (_DENIABLE_COMPLETE=words deniable $words[2..-1] "$current" 2>/dev/null)
        printf '%s\n' $lines
    else
        __fish_complete_path "$current"
    end
end
complete --no-files --command deniable --arguments "(_deniable)"
"""
_SOURCES: Final = {"bash_source": _BASH, "zsh_source": _ZSH, "fish_source": _FISH}


def complete(instruction: str, words: Sequence[str]) -> int:
    """Does what a shell asks for, and returns the exit status.

    Args:
        instruction: "bash_source", "zsh_source", "fish_source" or "words".
        words: the words after the script's name; the last is to be completed.
    """
    if instruction in _SOURCES:
        print(_SOURCES[instruction].lstrip())
        return 0
    if instruction != "words":
        raise ParameterError(
            "_DENIABLE_COMPLETE", f"one of {', '.join([*_SOURCES, 'words'])}", instruction
        )
    *before, current = words or [""]
    possible = _possible_words(before, current)
    if possible is None:
        return 1
    for word, meaning in possible:
        if word.startswith(current):
            print(f"{word}\t{' '.join(meaning.split())}")
    return 0


def _possible_words(before: list[str], current: str) -> list[tuple[str, str]] | None:
    """Words that can stand at a place, each with its meaning; None if a file name is expected.

    Args:
        before: the words before this place.
        current: what is typed of the word.
    """
    if (command := find_command(before)) is None:
        options = [] if before else [("--help", "Show help."), ("--version", "Show the version.")]
        names = [(name, _summary([*before, name])) for name in names_after(before)]
        return [*names, *options]
    name, arguments = command
    target = COMMANDS[name].target
    if not COMMANDS[name].needs_extra:
        return _parser_words(import_module(target).parser(), arguments, current)
    try:
        completion = import_module("deniable_aggregator.doors.cli.completion")
        words: list[tuple[str, str]] | None = completion.possible_words(target, arguments, current)
    except ModuleNotFoundError:
        return []  # without the extra the command cannot be run either
    return words


def _summary(name: list[str]) -> str:
    command = COMMANDS.get(" ".join(name))
    return "" if command is None else command.summary


def _parser_words(
    parser: Parser, arguments: Sequence[str], current: str
) -> list[tuple[str, str]] | None:
    """Options, or after an option that has only some values these values."""
    before = arguments[-1] if arguments else ""
    for action in parser.actions:
        if before in action.option_strings and action.nargs != 0:
            if action.choices is None:
                return None
            return [(str(choice), "") for choice in action.choices]
    if not current.startswith("-"):
        return None
    return [
        (max(action.option_strings, key=len), action.help or "")
        for action in parser.actions
        if action.option_strings
    ]
