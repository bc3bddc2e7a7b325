"""The user's configuration files, looked for before the shipped ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin

__all__ = ["PRIMARY", "user_files_first"]

PRIMARY = "config"
"""Name of the shipped file that the composition starts from."""

_folder: ContextVar[Path | None] = ContextVar("merlinkit_user_conf", default=None)


class UserFiles(FileConfigSource):
    """Files of the user's folder, but for a ``config.yaml``, which is another program's."""

    @staticmethod
    def scheme() -> str:
        """Return how paths of this source begin."""
        return "merlinkit"

    def is_config(self, config_path: str) -> bool:
        """Tell whether there is such a file."""
        return config_path.removesuffix(".yaml") != PRIMARY and super().is_config(config_path)


class UserFilesFirst(SearchPathPlugin):
    """Puts the folder of `user_files_first` before everything else."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add the folder; Hydra's ``--config-dir`` would come after the shipped files."""
        folder = _folder.get()
        if folder is not None:
            search_path.prepend("user", f"{UserFiles.scheme()}://{folder}")


@contextmanager
def user_files_first(folder: Path | None) -> Iterator[None]:
    """Let Hydra take files of a folder rather than shipped ones of the same name."""
    plugins = Plugins.instance()
    for plugin in (UserFiles, UserFilesFirst):
        plugins.register(plugin)
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)
