"""The run report: one HTML page that needs no network and no other file."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from merlinkit.atomic import atomic_file
from merlinkit.errors import RunDirError
from merlinkit.report import formats
from merlinkit.report.record import RunRecord, read_run
from merlinkit.report.sections.calibration import calibration
from merlinkit.report.sections.data import data_profile
from merlinkit.report.sections.environment import config_yaml, environment
from merlinkit.report.sections.output import output_schema
from merlinkit.report.sections.overview import METRIC_NAMES, overview
from merlinkit.report.sections.stages import stages
from merlinkit.report.sections.training import training

__all__ = ["render_report", "write_report"]


def write_report(run_dir: Path) -> Path:
    """Write ``report.html`` into a run directory, from what the directory holds.

    Parameters
    ----------
    run_dir
        The run directory. Sections whose files are missing are left out, damaged files are
        named in the page's notes, and numbers that are no finite numbers are shown as a dash.

    Returns
    -------
    Path
        The page. It replaces an earlier one whole, or not at all.

    Raises
    ------
    RunDirError
        If the directory does not exist or cannot be written to.

    Notes
    -----
    The page loads nothing and runs no script; its content security policy forbids both. All
    text from data and configuration is escaped, and values of keys named like passwords or
    access keys are hidden. The same directory gives the same bytes.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "config.yaml").write_text("dataset: {name: movies}")
    ...     page = write_report(Path(folder))
    ...     page.name, "movies" in page.read_text(encoding="utf-8")
    ('report.html', True)
    """
    run_dir = Path(run_dir)
    if not run_dir.is_dir():
        raise RunDirError(f"cannot write a report: there is no run directory {run_dir}")
    content = render_report(read_run(run_dir)).encode("utf-8", errors="replace")
    target = run_dir / "report.html"
    try:
        with atomic_file(target) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        raise RunDirError(f"cannot write {target}: {error.strerror or error}") from error
    return target


@cache
def _template() -> Template:
    jinja = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in ("amount", "duration", "large", "mebibytes", "metric", "short", "when"):
        jinja.filters[name] = getattr(formats, name)
    return jinja.get_template("template.html")


def render_report(record: RunRecord) -> str:
    """Return the page of what was read from a run directory."""
    yaml, hidden = config_yaml(record)
    return _template().render(
        top=overview(record),
        data=data_profile(record),
        stages=stages(record),
        training=training(record),
        calibration=calibration(record),
        output=output_schema(record),
        yaml=yaml,
        hidden=hidden,
        environment=environment(record),
        metric_names=METRIC_NAMES,
    )
