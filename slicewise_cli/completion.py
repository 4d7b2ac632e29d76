"""Completion of commands, options and their choices in bash, zsh and fish."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

SCRIPTS = {
    "bash": """_slicewise() {
  local IFS=$'\\n'
  COMPREPLY=($(slicewise complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _slicewise slicewise
""",
    "zsh": """(( $+functions[compdef] )) || { autoload -U compinit && compinit }
_slicewise() {
  local -a found
  found=("${(@f)$(slicewise complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
compdef _slicewise slicewise
""",
    "fish": """function __slicewise
  set -l words (commandline -opc) (commandline -ct)
  set -l found (slicewise complete -- $words[2..-1] 2>/dev/null | string match -v '')
  if test -n "$found"
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c slicewise -f -a '(__slicewise)'
""",
}


def candidates(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """Return what the last word may become, sorted; "" begins everything."""
    *before, last = words or [""]
    for word in before:
        below = _commands(parser).get(word)
        parser = below or parser
    previous = before[-1] if before else ""
    for action in parser._actions:
        if previous in action.option_strings and action.choices:
            return _begun(map(str, action.choices), last)
    return _begun(_words(parser), last)


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _words(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from (name for name in action.choices if name != "complete")
        elif action.option_strings:
            yield action.option_strings[-1]
        elif action.choices:
            yield from map(str, action.choices)


def _begun(words: Iterator[str] | map[str], last: str) -> list[str]:
    return sorted(
        word
        for word in set(words)
        if word.startswith(last) and (last.startswith("-") or not word.startswith("-"))
    )
