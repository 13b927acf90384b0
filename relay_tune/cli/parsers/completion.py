"""Print what makes a shell complete the verbs, options and models of `tune`.

bash and zsh: eval "$(tune completion bash)"; fish: tune completion fish | source.
Put the line into the file that your shell reads when it starts.
"""

from __future__ import annotations

import argparse

EXAMPLE = "tune completion bash"
SHELLS = ("bash", "zsh", "fish")


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    parser.add_argument("shell", choices=SHELLS, help="the shell to print it for")
