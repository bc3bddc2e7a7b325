"""Reading the bytes of text files in blocks, plain or compressed, with what can be wrong at once.

A file of gzip or zstd is recognised by its first bytes, whatever its name, and is decompressed as
a stream: memory holds a block, never the file.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa

from merlinkit.errors import DataError

__all__ = ["BLOCK_BYTES", "line_error", "open_data", "read_blocks", "refuse_binary", "shown"]

BLOCK_BYTES = 8 << 20
"""Bytes that are read and parsed at once."""

_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"
"""Follows a first byte of 0x50 to 0x5f where a file starts with a frame of no text, as pzstd's."""
_UTF_16 = "is UTF-16 text, not UTF-8; convert it, as `iconv -f UTF-16 -t UTF-8` does"
_OTHER_KINDS = {
    b"PAR1": "holds Parquet, not text; name it .parquet or give format='parquet'",
    b"PK\x03\x04": "is a zip archive; unpack it, or use gzip or zstd",
    b"BZh": "is packed with bzip2; unpack it, or use gzip or zstd",
    b"\xfd7zXZ": "is packed with xz; unpack it, or use gzip or zstd",
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
}


def shown(text: str | bytes, limit: int = 120) -> str:
    r"""Return a line of a file as it can stand in a message: quoted, one line, not too long.

    Examples
    --------
    >>> shown(b"1,\xff\n")
    "'1,\\xff'"
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", errors="backslashreplace")
    text = text.rstrip("\r\n")
    if len(text) > limit:
        text = text[: limit - 3] + "..."
    # repr escapes line ends; the backslashes that stand for bad bytes are kept single.
    return "'" + text.replace("\r", "\\r").replace("\n", "\\n") + "'"


def line_error(path: Path, line: int, what: str) -> DataError:
    """Return the error about one line of one file."""
    return DataError(f"{path}, line {line}: {what}")


@contextmanager
def open_data(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed if it is one of gzip or zstd.

    Raises
    ------
    DataError
        If the file is missing, a folder, unreadable, or not what its name says.
    """
    with reading(path):
        if path.is_dir():
            raise DataError(f"{path} is a folder where a file was expected")
        with path.open("rb") as raw:
            head = raw.read(6)
            raw.seek(0)
            if head.startswith(_GZIP):
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield unpacked  # type: ignore[misc]
                return
            if head.startswith(_ZSTD) or (head[1:4] == _ZSTD_SKIPPABLE and 0x50 <= head[0] <= 0x5F):
                yield from _unpacked_zstd(path, raw)
                return
            for suffix, kind in ((".gz", "gzip"), (".zst", "zstd")):
                if head and path.suffix.lower() == suffix:
                    raise DataError(
                        f"{path}: its name ends in {suffix}, but it is no {kind} file; rename it"
                    )
            yield raw


def _unpacked_zstd(path: Path, raw: IO[bytes]) -> Iterator[IO[bytes]]:
    try:
        with pa.CompressedInputStream(raw, "zstd") as unpacked:
            yield unpacked
    except OSError as error:
        if error.errno is not None:  # of the system, not of the decompressor
            raise
        raise DataError(
            f"{path} is a damaged zstd file ({error}); `zstd -t` tells the same. Fetch it again"
        ) from None


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what the system and gzip say about a file into one `DataError` that names it."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"no file {path}: it is gone, or a link to nothing") from None
    except PermissionError:
        raise DataError(f"{path}: no permission to read it; `chmod +r` or another user") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{path} is a damaged gzip file ({error}); `gzip -t` tells the same. Fetch it again"
        ) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


def refuse_binary(path: Path, head: bytes) -> None:
    """Raise a `DataError` if the first bytes of a text file are those of something else."""
    for magic, kind in _OTHER_KINDS.items():
        if head.startswith(magic):
            raise DataError(f"{path} {kind}")


def read_blocks(path: Path, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Yield the bytes of a text file, decompressed, without a byte order mark.

    The last block ends with a line end, whether the file does or not. An empty file gives none.
    """
    with open_data(path) as file:
        block = file.read(size)
        refuse_binary(path, block)
        block = block.removeprefix(_BOM)
        while block:
            following = file.read(size)
            if not following and not block.endswith(b"\n"):
                block += b"\n"
            yield block
            block = following
