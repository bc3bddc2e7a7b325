"""Where people look: the terminal, or whatever it is piped into."""

from __future__ import annotations

import rich.console

__all__ = ["Console"]


class Console(rich.console.Console):
    """A console that leaves it to the caller what to do when its reader has gone."""

    def on_broken_pipe(self) -> None:
        """Let the `BrokenPipeError` through; by default the process would end with an error."""
        self.quiet = True
        raise BrokenPipeError
