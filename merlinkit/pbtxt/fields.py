"""The fields of tensorflow_metadata's messages that a ``schema.pbtxt`` may have.

A name that is none of these is a slip of the pen and reported as one; protobuf does the same.
The names are those of tensorflow-metadata 1.21, which a test compares them with.
"""

from __future__ import annotations

__all__ = ["ANNOTATION", "FEATURE", "FLOAT_DOMAIN", "INT_DOMAIN", "SCHEMA", "VALUE_COUNT"]

SCHEMA = frozenset(
    [
        "feature",
        "sparse_feature",
        "weighted_feature",
        "string_domain",
        "float_domain",
        "int_domain",
        "default_environment",
        "represent_variable_length_as_ragged",
        "annotation",
        "dataset_constraints",
        "tensor_representation_group",
    ]
)
FEATURE = frozenset(
    [
        "name",
        "deprecated",
        "presence",
        "group_presence",
        "shape",
        "value_count",
        "value_counts",
        "type",
        "domain",
        "int_domain",
        "float_domain",
        "string_domain",
        "bool_domain",
        "struct_domain",
        "natural_language_domain",
        "image_domain",
        "audio_domain",
        "video_domain",
        "content_chunk_domain",
        "mid_domain",
        "url_domain",
        "time_domain",
        "time_of_day_domain",
        "distribution_constraints",
        "annotation",
        "skew_comparator",
        "drift_comparator",
        "in_environment",
        "not_in_environment",
        "lifecycle_stage",
        "unique_constraints",
        "validation_derived_source",
        "sequence_metadata",
    ]
)
VALUE_COUNT = frozenset(["min", "max"])
INT_DOMAIN = frozenset(["name", "min", "max", "is_categorical"])
FLOAT_DOMAIN = frozenset(
    [
        "name",
        "min",
        "max",
        "disallow_nan",
        "disallow_inf",
        "is_embedding",
        "is_categorical",
        "embedding_dim",
        "embedding_type",
    ]
)
ANNOTATION = frozenset(["tag", "comment", "extra_metadata"])
