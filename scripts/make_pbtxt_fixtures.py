"""Makes tests/fixtures/pbtxt with the real Merlin libraries.

They do not install beside merlinkit (they need pandas 1), so this runs in an environment of its
own, with Python 3.10 or 3.11 and, installed without their dependencies' newest versions,

    merlin-core==23.8.0 nvtabular==23.8.0 merlin-dataloader==23.8.0 tensorflow-metadata==1.13.1
    protobuf==4.25.2 betterproto==1.2.5 pandas==1.5.3 numpy==1.24.3 numba==0.58.1
    dask==2023.11.0 distributed==2023.11.0 pyarrow==14.0.2 fsspec==2023.12.2 setuptools<70

and what these ask for. It is run from the top of the repository:

    PYTHONHASHSEED=0 CUDA_VISIBLE_DEVICES= MERLIN_ENV/bin/python scripts/make_pbtxt_fixtures.py

For each schema it writes what Merlin writes (``NAME.pbtxt``) and, as JSON, what Merlin says about
its columns when it reads that file again (``NAME.json``), which the tests expect of our reader.
``core_expanded.pbtxt`` is ``core.pbtxt`` with the properties printed field by field, the
other form that protobuf has. The order of properties is protobuf's and may differ between runs.
"""

from __future__ import annotations

import json
import os
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

# Merlin is imported by name: type checks run where it is not installed.
FOLDER = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "pbtxt"


def core_schema() -> Any:
    """Return columns of every kind that merlin-core has."""
    md, schema = import_module("merlin.dtypes"), import_module("merlin.schema")
    ColumnSchema, Tags = schema.ColumnSchema, schema.Tags

    plain = [
        ColumnSchema(f"plain_{dtype.name}", dtype=dtype)
        for dtype in (md.int8, md.int16, md.int32, md.int64, md.float16, md.float32, md.float64)
    ]
    lossy = [
        ColumnSchema(f"lossy_{dtype.name}", dtype=dtype)
        for dtype in (md.uint8, md.uint64, md.string, md.boolean, md.datetime64ns)
    ]
    lists = [
        ColumnSchema("list_any", dtype=md.int64, is_list=True, is_ragged=True),
        ColumnSchema(
            "list_counted",
            dtype=md.float32,
            properties={"value_count": {"min": 2, "max": 185}},
        ),
        ColumnSchema("list_at_least", dtype=md.int32, properties={"value_count": {"min": 3}}),
        ColumnSchema("list_at_most", dtype=md.int32, properties={"value_count": {"max": 7}}),
        ColumnSchema(
            "list_fixed",
            dtype=md.float64,
            is_list=True,
            is_ragged=False,
            properties={"value_count": {"max": 4}},
        ),
        ColumnSchema("list_no_counts", dtype=md.int64, is_list=True, is_ragged=False),
        ColumnSchema("list_strings", dtype=md.string, is_list=True),
        ColumnSchema("list_of_lists", dtype=md.int64, dims=(None, None, None)),
        ColumnSchema("list_of_vectors", dtype=md.float32, dims=(None, (0, 20), 16)),
        ColumnSchema("batch_of_8", dtype=md.float32, dims=(8, 16)),
        ColumnSchema("scalar_shape", dtype=md.float32, dims=(None,)),
    ]
    domains = [
        ColumnSchema(
            "user",
            dtype=md.int64,
            tags=[Tags.CATEGORICAL, Tags.USER_ID],
            properties={
                "domain": {"min": 0, "max": 944, "name": "user_vocabulary"},
                "embedding_sizes": {"cardinality": 945, "dimension": 74},
            },
        ),
        ColumnSchema(
            "genres",
            dtype=md.int32,
            tags=[Tags.CATEGORICAL, Tags.ITEM, "my_tag"],
            is_list=True,
            properties={
                "domain": {"min": 1, "max": 20},
                "embedding_sizes": {"cardinality": 25, "dimension": 8, "trainable": False},
            },
        ),
        ColumnSchema("negative", dtype=md.int16, properties={"domain": {"min": -5, "max": 0}}),
        ColumnSchema("empty", dtype=md.int16, properties={"domain": {"min": 0, "max": 0}}),
        ColumnSchema(
            "price",
            dtype=md.float32,
            tags=[Tags.CONTINUOUS],
            properties={"domain": {"min": -0.1, "max": 16777216.0, "name": "prices"}},
        ),
        ColumnSchema("ratio", dtype=md.float64, properties={"domain": {"min": 0.0, "max": 1.0}}),
    ]
    tagged = [
        ColumnSchema("click", dtype=md.int8, tags=[Tags.TARGET, Tags.BINARY_CLASSIFICATION]),
        ColumnSchema("kind", dtype=md.int8, tags=[Tags.TARGET, Tags.MULTI_CLASS, "classification"]),
        ColumnSchema("session", dtype=md.int64, tags=[Tags.SESSION_ID, Tags.CATEGORICAL]),
    ]
    names = [
        ColumnSchema(
            "gr\u00f6\u00dfe \u540d\u524d \U0001f3ac", dtype=md.int64, tags=["\u00e9t\u00e9"]
        ),
        ColumnSchema("quotes \" ' \\ \t\n?", dtype=md.int64),
        ColumnSchema(
            "properties",
            dtype=md.int64,
            properties={
                "text": 'na\u00efve "quoted"\n',
                "empty": "",
                "none": None,
                "yes": True,
                "no": False,
                "whole": 16,
                "large": 2**53,
                "fraction": 0.1,
                "negative": -3,
                "list": [1, "two", None, [True, []], {"three": 3.5}],
                "mapping": {"inner": {"deep": {"deeper": [{}]}}, "": "empty key"},
            },
        ),
    ]
    return schema.Schema([*plain, *lossy, *lists, *domains, *tagged, *names])


def nvtabular_schema() -> Any:
    """Return the schema that an NVTabular workflow gives its output."""
    nvtabular, ops = import_module("nvtabular"), import_module("nvtabular.ops")
    tags = import_module("merlin.schema").Tags
    frame = import_module("pandas").DataFrame(
        {
            "user_id": ["a", "b", "a", "c"],
            "city": ["x", "y", "y", "x"],
            "genres": [["drama", "war"], ["war"], [], ["comedy"]],
            "price": [1.0, 2.5, 3.0, 4.0],
            "age": [31, 25, 47, 19],
            "click": [0, 1, 0, 1],
        }
    )
    ids = ["user_id"] >> ops.TagAsUserID() >> ops.Categorify(num_buckets=None)
    categories = ["city"] >> ops.Categorify(freq_threshold=2, out_path="categories", num_buckets=3)
    lists = ["genres"] >> ops.Categorify() >> ops.ListSlice(0, 2, pad=True)
    dense = ["price"] >> ops.Normalize() >> ops.AddMetadata(tags=[tags.CONTINUOUS])
    buckets = ["age"] >> ops.Bucketize({"age": [20, 30, 40]}) >> ops.AddTags([tags.USER])
    target = ["click"] >> ops.AddTags([tags.BINARY_CLASSIFICATION, tags.TARGET])
    workflow = nvtabular.Workflow(ids + categories + lists + dense + buckets + target)
    workflow.fit(import_module("merlin.io").Dataset(frame))
    return workflow.output_schema


def described(schema: Any) -> list[dict[str, Any]]:
    """Return what Merlin says about the columns, as JSON."""
    columns = []
    for column in schema:
        domain = column.int_domain or column.float_domain
        columns.append(
            {
                "name": column.name,
                "dtype": column.dtype.name,
                "is_list": column.is_list,
                "is_ragged": column.is_ragged,
                "shape": column.shape.as_tuple,
                "domain": domain and {"min": domain.min, "max": domain.max, "name": domain.name},
                "tags": sorted(getattr(tag, "value", tag) for tag in column.tags),
                "properties": column.properties,
            }
        )
    return columns


def write(name: str, schema: Any) -> str:
    """Write the two files of a schema and return the text of the first."""
    metadata = import_module("merlin.schema.io.tensorflow_metadata").TensorflowMetadata
    text = str(metadata.from_merlin_schema(schema).to_proto_text())
    again = metadata.from_proto_text(text).to_merlin_schema()
    (FOLDER / f"{name}.pbtxt").write_text(text, encoding="utf-8")
    as_json = json.dumps(described(again), indent=1, sort_keys=True, ensure_ascii=False)
    (FOLDER / f"{name}.json").write_text(as_json + "\n", encoding="utf-8")
    return text


def expanded(text: str) -> str:
    """Return the text with the properties printed field by field instead of as bytes."""
    struct_pb2 = import_module("google.protobuf.struct_pb2")
    text_format = import_module("google.protobuf.text_format")
    schema_pb2 = import_module("tensorflow_metadata.proto.v0.schema_pb2")

    def formatter(message: Any, indent: int, as_one_line: bool) -> str | None:
        # Python's protobuf would print any other type in this way by itself, but it takes the
        # empty Struct that it starts from for a missing one.
        del as_one_line
        if message.DESCRIPTOR.full_name != "google.protobuf.Any":
            return None
        struct = struct_pb2.Struct()
        message.Unpack(struct)
        inner = text_format.MessageToString(struct, indent=indent + 2)
        return f"[{message.type_url}] {{\n{inner}{' ' * indent}}}"

    message = text_format.Parse(text, schema_pb2.Schema())
    return str(text_format.MessageToString(message, message_formatter=formatter))


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    # NVTabular writes its vocabularies to the working directory.
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write("nvtabular", nvtabular_schema())
        os.chdir(FOLDER)
    core = write("core", core_schema())
    (FOLDER / "core_expanded.pbtxt").write_text(expanded(core), encoding="utf-8")


if __name__ == "__main__":
    main()
