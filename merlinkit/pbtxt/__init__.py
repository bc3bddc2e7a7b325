"""Merlin's ``schema.pbtxt``: a schema as text protobuf of tensorflow_metadata's Schema message.

NVTabular and Merlin Models keep their schemas in this form beside the data. It is read and
written here without the protobuf package. `files` has the public functions, `mapping` says which
part of a column goes where, `feature` is one column as the file holds it, `structs` the free
properties in it, and `message`, `parser` and `printer` are the text format itself.
"""

from __future__ import annotations

from merlinkit.pbtxt.files import format_pbtxt, parse_pbtxt, read_pbtxt, write_pbtxt

__all__ = ["format_pbtxt", "parse_pbtxt", "read_pbtxt", "write_pbtxt"]
