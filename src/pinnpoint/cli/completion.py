"""`pinnpoint completion bash`: words for the shell to complete, from the commands themselves."""

from __future__ import annotations

import argparse

from pinnpoint.cli.commands import ABOUT, add_commands

SHELLS = ("bash", "zsh", "fish")


def options() -> dict[str, list[str]]:
    """The options of each command."""
    parser = argparse.ArgumentParser(prog="pinnpoint")
    add_commands(parser)
    (commands,) = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return {
        name: sorted(word for action in one._actions for word in action.option_strings if word.startswith("--"))
        for name, one in commands.choices.items()
    }


def script(shell: str) -> str:
    """What the shell reads: ``eval "$(pinnpoint completion bash)"``."""
    known = options()
    if shell == "fish":
        lines = [
            f"complete -c pinnpoint -n __fish_use_subcommand -a {name} -d '{_plain(ABOUT[name])}'" for name in known
        ]
        for name, words in known.items():
            lines += [f"complete -c pinnpoint -n '__fish_seen_subcommand_from {name}' -l {w[2:]}" for w in words]
        return "\n".join(lines)
    cases = "\n".join(f'    {name}) words="{" ".join(words)}" ;;' for name, words in known.items())
    body = f"""_pinnpoint() {{
  local words
  case "${{COMP_WORDS[1]}}" in
{cases}
    *) words="{" ".join(known)}" ;;
  esac
  [ "$COMP_CWORD" = 1 ] && words="{" ".join(known)}"
  COMPREPLY=($(compgen -f -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o filenames -F _pinnpoint pinnpoint"""
    return f"autoload -U +X bashcompinit && bashcompinit\n{body}" if shell == "zsh" else body


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    print(script(arguments.shell))
    return 0


def _plain(text: str) -> str:
    return text.replace("'", "’")
