"""Help of a verb: groups, their choices, and the keys of the default configuration."""

from __future__ import annotations

from pathlib import Path

from merlinkit.pipeline.console import Console

__all__ = ["print_verb_help"]

_EXAMPLES = {
    "run": [
        "merlinkit run",
        "merlinkit run dataset=synthetic dataset.rows=1000000 trainer.epochs=3",
        "merlinkit run dataset=files dataset.path='logs/*.parquet' features=my_features",
        "merlinkit run -m model.embedding_dim=8,16",
    ],
    "etl": ["merlinkit etl dataset=synthetic run_dir=runs/mine"],
    "train": ["merlinkit train run_dir=runs/mine trainer.learning_rate=0.01"],
    "evaluate": ["merlinkit evaluate run_dir=runs/mine"],
    "plan": ["merlinkit plan dataset=synthetic"],
    "generate": [
        "merlinkit generate dataset.rows=1000000 generate.folder=logs",
        "merlinkit generate dataset=criteo dataset.rows=2000000 generate.format=tsv",
    ],
}


def print_verb_help(verb: str, title: str, conf: Path, console: Console) -> None:
    """Print what a verb does and what can be set."""
    lines = [f"merlinkit {verb}: {title}", "", "examples:"]
    lines += [f"  {example}" for example in _EXAMPLES[verb]]
    lines += ["", "groups (group=choice; your own choices: conf/GROUP/NAME.yaml here):"]
    for group in sorted(path for path in conf.iterdir() if path.is_dir()):
        choices = ", ".join(sorted(path.stem for path in group.glob("*.yaml")))
        if choices:
            lines.append(f"  {group.name:<10}{choices}")
    lines += [
        "",
        "keys: run_dir=, seed=, overwrite=true, and GROUP.KEY= for each key that",
        f"  merlinkit {verb} --cfg job",
        "prints. Hydra's own flags are explained by --hydra-help.",
    ]
    console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
