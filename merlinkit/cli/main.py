"""Entry point: picks the verb, runs it, and turns errors into messages and exit codes.

Exit codes: 0 success, 1 a bug of ours (with traceback), 2 something the user can fix, 130 Ctrl-C,
141 when whoever read the output has seen enough.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from merlinkit._version import __version__
from merlinkit.errors import MerlinkitError, did_you_mean
from merlinkit.pipeline.console import Console

__all__ = ["main"]

USER_ERROR = 2
INTERRUPTED = 130
READER_GONE = 141

VERBS = {
    "run": "data, features, training, evaluation and report in one go",
    "etl": "process the data: split, fit features, transform",
    "train": "train on what etl left in run_dir, and evaluate",
    "evaluate": "measure the model in run_dir again",
    "plan": "show what a run would do, without doing it",
    "generate": "write seeded synthetic logs of any size",
    "doctor": "say what is installed here and what will run where",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments
        What follows ``merlinkit``; None takes those of the process.

    Returns
    -------
    int
        The exit code.
    """
    # Read by OpenMP when PyTorch is first imported. By default its threads spin while they wait for
    # each other, and when another program takes one of the cores, training is ten times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    given = list(sys.argv[1:] if arguments is None else arguments)
    console = Console(stderr=True)
    try:
        code = _dispatch(given, console)
        # What still waits to be written would otherwise fail when the interpreter ends.
        sys.stdout.flush()
        return code
    except MerlinkitError as error:
        _print_error(console, str(error))
        return USER_ERROR
    except KeyboardInterrupt:
        _print_error(console, "interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output, such as `head`, has seen enough.
        _discard_output()
        return READER_GONE


def _dispatch(given: list[str], console: Console) -> int:
    if not given or given[0] in ("-h", "--help", "help"):
        _print_help(Console())
        return 0 if given else USER_ERROR
    if given[0] in ("-V", "--version", "version"):
        print(f"merlinkit {__version__}")
        return 0
    verb, *rest = given
    if verb not in VERBS:
        raise MerlinkitError(
            f"no verb '{verb}'.{did_you_mean(verb, VERBS)} There are: {', '.join(VERBS)}. "
            "The verb comes first, overrides follow: merlinkit run dataset=synthetic"
        )
    return _runner(verb)(rest, console)


def _runner(verb: str) -> Callable[[list[str], Console], int]:
    """Return the function of a verb; each imports only what it needs."""
    if verb == "doctor":
        from merlinkit.cli.doctor import doctor

        return doctor
    from merlinkit.cli.hydra_verbs import run_verb

    return lambda rest, console: run_verb(verb, VERBS[verb], rest, console)


def _print_help(console: Console) -> None:
    lines = [
        "merlinkit: from raw interaction logs to a trained recommender",
        "",
        "usage: merlinkit VERB [group=choice] [key=value] ...",
        "",
        *(f"  {verb:<10}{text}" for verb, text in VERBS.items()),
        "",
        "merlinkit VERB --help lists groups and keys; --cfg job shows the configuration;",
        "-m runs over several values: merlinkit run -m model.embedding_dim=8,16",
    ]
    console.print("\n".join(lines), markup=False, highlight=False)


def _discard_output() -> None:
    """Let what is still to be written go nowhere, so that the interpreter ends quietly."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _print_error(console: Console, message: str) -> None:
    console.print(
        f"merlinkit: {message}", style="red", markup=False, highlight=False, soft_wrap=True
    )
