"""Csv and tsv: every value arrives, and what cannot is named by file, line and column."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import merlinkit.data.csv_records as records
import merlinkit.data.text as text
from merlinkit.data.csv_options import CsvOptions
from merlinkit.data.csv_shape import CsvShape
from merlinkit.data.dataset import Dataset
from merlinkit.data.failures import data_errors
from merlinkit.errors import DataError, ParameterError, SchemaError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.csv"


def read(dataset: Dataset) -> pl.DataFrame:
    with data_errors():
        return dataset.scan().collect(engine="streaming")


def small_blocks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Make the reader see files in blocks of a few bytes, so that every cut is tried."""

    def blocks(path: Path) -> Iterator[bytes]:
        return text.read_blocks(path, size)

    monkeypatch.setattr(records, "read_blocks", blocks)


# -- values -----------------------------------------------------------------------------------


def test_types_are_those_of_the_values(file: Path) -> None:
    file.write_text(
        "i,f,b,s,u,big,empty\n"
        "1,1.5,true,x,18446744073709551615,123456789012345678901234567890,\n"
        '-2,2,FALSE,"a,b",0,1,\n'
    )
    data = Dataset(file)
    assert dict(data.schema.to_polars()) == {
        "i": pl.Int64,
        "f": pl.Float64,
        "b": pl.Boolean,
        "s": pl.String,
        "u": pl.UInt64,
        "big": pl.String,
        "empty": pl.String,
    }
    assert read(data).rows() == [
        (1, 1.5, True, "x", 18446744073709551615, "123456789012345678901234567890", None),
        (-2, 2.0, False, "a,b", 0, "1", None),
    ]


def test_the_same_as_pandas_reads(file: Path) -> None:
    rows = "".join(f'{i},{i / 7!r},"name, {i}",{i % 5 or ""}\n' for i in range(3000))
    file.write_text("id,price,name,rank\n" + rows)
    expected = pd.read_csv(file, dtype={"rank": "Int64"}, float_precision="round_trip")
    frame = read(Dataset(file))
    for name in ("id", "price", "name"):
        assert frame[name].to_list() == expected[name].tolist()
    ranks = [None if pd.isna(value) else int(value) for value in expected["rank"]]
    assert frame["rank"].to_list() == ranks


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_marks_and_gzip(
    tmp_path: Path, ending: str, mark: bytes, packed: bool, last: bool
) -> None:
    body = mark + ending.join(["a,b", "1,x", '2,"y"', "", "3,"]).encode()
    body += ending.encode() if last else b""
    path = tmp_path / ("a.csv.gz" if packed else "a.csv")
    path.write_bytes(gzip.compress(body) if packed else body)
    assert read(Dataset(path)).to_dict(as_series=False) == {"a": [1, 2, 3], "b": ["x", "y", None]}


def test_gzip_is_told_by_its_bytes_and_may_have_several_members(file: Path) -> None:
    file.write_bytes(gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"3,4\n"))
    assert read(Dataset(file)).rows() == [(1, 2), (3, 4)]


def test_tsv_without_header_and_with_quotes_as_text(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text('1\t5" pipe\t\\N\n2\t"x\t3\n')
    options = CsvOptions(
        has_header=False, names=["id", "title", "n"], quote_char=None, null_values=["\\N"]
    )
    assert read(Dataset(path, csv=options)).rows() == [(1, '5" pipe', None), (2, '"x', 3)]


def test_columns_are_numbered_without_header_and_names(file: Path) -> None:
    file.write_text("1|x\n2|y\n")
    data = Dataset(file, csv=CsvOptions(delimiter="|", has_header=False))
    assert data.schema.names == ["column_1", "column_2"]
    assert read(data).rows() == [(1, "x"), (2, "y")]


def test_names_replace_a_header(file: Path) -> None:
    file.write_text(",a,a\n0,1,2\n")
    data = Dataset(file, csv=CsvOptions(names=["row", "x", "y"]))
    assert read(data).to_dicts() == [{"row": 0, "x": 1, "y": 2}]


def test_nulls_empty_strings_and_markers(file: Path) -> None:
    file.write_text('n,s\n,\n"",""\nNA,NA\n"NA",-\n1,x\n')
    data = Dataset(file, csv=CsvOptions(null_values=["NA", "-"]), dtypes={"n": "Int64"})
    assert read(data).rows() == [(None, None), (None, ""), (None, None), (None, None), (1, "x")]


def test_blank_lines_are_no_rows_but_nulls_in_a_single_column(tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("\na,b\n\n1,2\n\r\n\n3,4\n\n")
    (tmp_path / "one.csv").write_text("a\n1\n\n3\n")
    assert read(Dataset(tmp_path / "two.csv")).rows() == [(1, 2), (3, 4)]
    assert read(Dataset(tmp_path / "one.csv")).rows() == [(1,), (None,), (3,)]


def test_dates_are_text_unless_asked_for(file: Path) -> None:
    file.write_text("d,t\n2026-11-01,2026-11-01 10:00:00\n")
    assert set(Dataset(file).schema.to_polars().values()) == {pl.String()}
    found = read(Dataset(file, csv=CsvOptions(parse_dates=True))).row(0)
    assert found == (dt.date(2026, 11, 1), dt.datetime(2026, 11, 1, 10))
    given = Dataset(file, dtypes={"t": "Datetime(ms, UTC)"})
    assert given.schema["t"].dtype == pl.Datetime("ms", "UTC")
    assert read(given)["t"][0] == dt.datetime(2026, 11, 1, 10, tzinfo=dt.UTC)


def test_given_types_win(file: Path) -> None:
    file.write_text("zip,n\n00501,1\n")
    data = Dataset(file, dtypes={"zip": "String", "n": "Int8"})
    assert read(data).rows() == [("00501", 1)]
    assert read(data).schema == {"zip": pl.String, "n": pl.Int8}


def test_some_columns_in_another_order(file: Path) -> None:
    file.write_text("a,b,c\n1,2,3\n")
    data = Dataset(file, columns=["c", "a"])
    assert read(data).to_dicts() == [{"c": 3, "a": 1}]
    with data_errors():
        assert data.scan().select(pl.len()).collect(engine="streaming").item() == 1
        assert data.scan().filter(pl.col("a") > 1).collect(engine="streaming").height == 0
        assert data.scan().head(1).collect(engine="streaming").height == 1


def test_files_with_columns_in_another_order_are_read_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("y,x\n4,3\n")
    assert read(Dataset(tmp_path)).rows() == [(1, 2), (3, 4)]


def test_empty_files_among_others_are_fine(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("")
    (tmp_path / "b.csv").write_text("x,y\n")
    (tmp_path / "c.csv").write_text("x,y\n1,2\n")
    data = Dataset(tmp_path)
    assert read(data).rows() == [(1, 2)]
    with data_errors():
        sizes = {name: plan.collect().height for name, plan in data.scan_files()}
    assert sizes == {"a": 0, "b": 0, "c": 1}
    assert any("a.csv is empty" in note for note in data.notes)


FIELD = st.text(alphabet='ab",\n\r\té', max_size=5)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    rows=st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(FIELD, min_size=width, max_size=width), min_size=1)
    ),
    size=st.sampled_from([1, 2, 5, 1000]),
    every=st.booleans(),
)
def test_whatever_python_writes_is_read_back(
    file: Path, rows: list[list[str]], size: int, every: bool
) -> None:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL if every else csv.QUOTE_MINIMAL).writerows(rows)
    file.write_bytes(out.getvalue().encode())
    options = CsvOptions(has_header=False)
    dtypes = {f"column_{index + 1}": "String" for index in range(len(rows[0]))}
    with pytest.MonkeyPatch.context() as patch:
        small_blocks(patch, size)
        found = read(Dataset(file, csv=options, dtypes=dtypes)).rows()
    if every:
        assert found == [tuple(row) for row in rows]
    else:  # an unquoted empty field is null; Python quotes it in a row of one field alone
        filled = [tuple(value or "" for value in row) for row in found]
        assert filled == [tuple(row) for row in rows]


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    pieces=st.lists(st.sampled_from(["a", "b", '"', '""', ",", "\n", "\r\n"]), max_size=40),
    size=st.sampled_from([1, 2, 5, 1000]),
    width=st.integers(1, 3),
    fill=st.booleans(),
)
def test_text_of_any_kind_is_cut_alike_by_arrays_and_one_by_one(
    file: Path, pieces: list[str], size: int, width: int, fill: bool
) -> None:
    """Good or bad, every record is told once, with the same line, whichever way it is cut."""
    file.write_bytes("".join(pieces).encode())
    shape = CsvShape(",", '"', width, fill_short=fill)
    found = []
    for by_arrays in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            small_blocks(patch, size if by_arrays else 1000)
            if not by_arrays:
                patch.setattr(records._Cutter, "regular", lambda self, last: None)
            bad: list[records.BadRecord] = []
            rows = [
                (int(block.lines[row]), shape.fields(block.slice(row, row + 1)))
                for block in records.csv_blocks(file, shape, header=False, on_bad=bad.append)
                for row in range(len(block))
            ]
        assert all(len(fields) == width for _, fields in rows)
        found.append((rows, [(record.line, record.text) for record in bad]))
    assert found[0] == found[1]


def test_quotes_within_a_field_are_text(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text('a,b\n5" pipe,1\n"x, ""y""",2\n6" pipe,3\nz,"4"\n')
    for size in (1, 3, 1000):
        small_blocks(monkeypatch, size)
        found = read(Dataset(file, dtypes={"b": "Int64"})).rows()
        assert found == [('5" pipe', 1), ('x, "y"', 2), ('6" pipe', 3), ("z", 4)]


# -- rows that are not right ------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize(
    ("body", "line", "what"),
    [
        ("1,2\n3,4,5\n6,7\n", 3, r"3 fields found, 2 expected: '3,4,5'"),
        ("1,2\n3\n6,7\n", 3, r"1 field found, 2 expected: '3'"),
        ("1,2\n   \n6,7\n", 3, r"1 field found, 2 expected"),
        ('1,"x\ny"\n3,4,5\n', 4, r"3 fields found"),
        ('1,2\n"3"x,4\n5,6\n', 3, r"text follows a closing quote: '\"3\"x,4'"),
        ('1,2\n3,"4\n5,6\n7,8\n', 3, r"a quote is opened and never closed: '3,\"4'"),
        ('1,2\n3,"4\n"5","6"\n7,8\n', 3, r"text follows a closing quote|never closed"),
    ],
)
def test_a_malformed_row_is_named_with_its_line(
    file: Path, monkeypatch: pytest.MonkeyPatch, size: int, body: str, line: int, what: str
) -> None:
    file.write_text("a,b\n" + body)
    small_blocks(monkeypatch, size)
    with pytest.raises(DataError, match=rf"a\.csv, line {line}: {what}"):
        read(Dataset(file))


@pytest.mark.parametrize("columns", [["a"], ["b"], []])
def test_a_malformed_row_is_found_whatever_is_read(
    file: Path, monkeypatch: pytest.MonkeyPatch, columns: list[str]
) -> None:
    small_blocks(monkeypatch, 4096)
    file.write_text("a,b\n" + "1,2\n" * 20_000 + "3,4,5\n" + "1,2\n" * 10)
    data = Dataset(file)
    with pytest.raises(DataError, match="line 20002: 3 fields found"), data_errors():
        data.scan().select(*columns, pl.len()).collect(engine="streaming")


def test_skipping_drops_counts_and_shows(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = 'a,b\n1,2\n3,4,5\n\n6\n"7"x,8\n9,"10\n11,12\n' + "x\n" * 4 + "13,14\n"
    file.write_text(body)
    expected = [(1, 2), (11, 12), (13, 14)]
    for size in (1, 5, 1000):
        small_blocks(monkeypatch, size)
        data = Dataset(file, csv=CsvOptions(on_malformed="skip"))
        assert data.malformed.count == 0
        assert read(data).rows() == expected
        assert read(data).rows() == expected  # a second pass counts nothing twice
        assert data.malformed.count == 8
        assert dict(data.malformed.by_file) == {file: 8}
        assert [(row.line, row.text) for row in data.malformed.sample] == [
            (3, "'3,4,5'"),
            (5, "'6'"),
            (6, "'\"7\"x,8'"),
            (7, "'9,\"10'"),
            (9, "'x'"),
        ]
    assert "8 malformed rows dropped" in str(data.malformed)


def test_rows_that_are_too_short_can_be_filled(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_bytes(b'a,b,c\n1\n2,"x"\r\n3,y,z\n4,5" p\n')
    for size in (1, 1000):
        small_blocks(monkeypatch, size)
        data = Dataset(file, csv=CsvOptions(missing_fields="null"))
        assert read(data).rows() == [
            (1, None, None),
            (2, "x", None),
            (3, "y", "z"),
            (4, '5" p', None),
        ]
    file.write_text("a,b\n1\n3,4,5\n")
    with pytest.raises(DataError, match="line 3: 3 fields found"):
        read(Dataset(file, csv=CsvOptions(missing_fields="null")))


def test_bytes_that_are_not_utf8(file: Path) -> None:
    file.write_bytes(b"a,b\n1,x\n2,caf\xe9\n3,y\n")
    message = r"line 3: not UTF-8, byte 0xe9 at offset 5 of the row: '2,caf\\xe9'.*iconv"
    with pytest.raises(DataError, match=message):
        Dataset(file)
    data = Dataset(file, csv=CsvOptions(on_malformed="skip"))
    assert read(data).rows() == [(1, "x"), (3, "y")]
    assert data.malformed.count == 1


def test_an_endless_quote_does_not_swallow_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MAX_RECORD_BYTES", 1000)
    small_blocks(monkeypatch, 256)
    file.write_text('a,b\n1,"2\n' + "3,4\n" * 2000)
    with pytest.raises(DataError, match="line 2: a quote is opened and never closed"):
        read(Dataset(file))
    data = Dataset(file, csv=CsvOptions(on_malformed="skip"))
    assert read(data).rows() == [(3, 4)] * 2000


# -- values that do not fit -------------------------------------------------------------------


def test_a_late_value_of_another_type_is_named(file: Path) -> None:
    lines = ["a,b", *("1,2" for _ in range(30_000)), "3,4.5", "5,x"]
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(
        DataError,
        match=r"a\.csv, line 30002: column 'b' holds '4\.5', which is not "
        r"Int64, the type inferred from the first 10,000 rows of .*a\.csv.*"
        r"dtypes=\{'b': 'Float64'\}",
    ):
        read(Dataset(file))
    with pytest.raises(DataError, match=r"line 30003: column 'b' holds 'x'.*as dtypes says"):
        read(Dataset(file, dtypes={"b": "Float64"}))
    assert read(Dataset(file, dtypes={"b": "String"}))["b"].to_list()[-2:] == ["4.5", "x"]
    # A column that is not read is not judged.
    assert read(Dataset(file, columns=["a"]))["a"].sum() == 30_008


def test_types_come_from_the_first_file_and_bind_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n\n1\n")
    (tmp_path / "b.csv").write_text("n\n\nx\n")
    with pytest.raises(
        DataError, match=r"b\.csv, line 3: column 'n' holds 'x', which is not Int64"
    ):
        read(Dataset(tmp_path))


def test_more_rows_can_be_looked_at(file: Path) -> None:
    file.write_text("n\n" + "1\n" * 100 + "1.5\n")
    with pytest.raises(DataError, match=r"holds '1.5'"):
        read(Dataset(file, csv=CsvOptions(infer_rows=100)))
    assert read(Dataset(file, csv=CsvOptions(infer_rows=101))).height == 101


@pytest.mark.parametrize("dtype", ["Int8", "Boolean", "Date", "Datetime(us)"])
def test_each_type_names_what_does_not_fit(file: Path, dtype: str) -> None:
    file.write_text("n,m\n,1\n300,2\n")
    with pytest.raises(
        DataError, match=rf"line 3: column 'n' holds '300', which is not .*{dtype[:4]}"
    ):
        read(Dataset(file, dtypes={"n": dtype}))


def test_types_that_csv_cannot_hold(file: Path) -> None:
    file.write_text("n\n1\n")
    with pytest.raises(SchemaError, match=r"cannot be read as List\(Int64\).*Split operator"):
        Dataset(file, dtypes={"n": "List(Int64)"})
    with pytest.raises(SchemaError, match=r"Duration"):
        Dataset(file, dtypes={"n": "Duration(us)"})


# -- files that are not right -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", r"a\.csv is empty: rows were expected"),
        (b"\n\n", r"a\.csv is empty"),
        (b"a,b\n", r"a\.csv: no rows, at most a header"),
        (b"PAR1xxxxPAR1", r"a\.csv holds Parquet, not text"),
        (b"PK\x03\x04zz", r"a\.csv is a zip archive"),
        ("a,b\n1,2\n".encode("utf-16"), r"UTF-16"),
        (b"a,b\r1,2\r", r"lines end in a carriage return alone"),
        (b"a,b,a\n1,2,3\n", r"line 1: the header is not usable: 'a' is there more than once"),
        (b",a\n0,1\n", r"line 1: the header is not usable: column 1 has no name"),
        (b'\n"a,b\n1,2\n', r"line 2: the first row cannot be read, its quotes do not match"),
        (b"caf\xe9,b\n1,2\n", r"line 1: not UTF-8, byte 0xe9"),
    ],
)
def test_files_that_cannot_be_read(file: Path, body: bytes, message: str) -> None:
    file.write_bytes(body)
    with pytest.raises(DataError, match=message):
        Dataset(file)


def test_damaged_gzip(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    noise = "".join(f"{i * 7919 % 10007},{i * 104729 % 10009}\n" for i in range(300_000))
    packed = gzip.compress(("a,b\n" + noise).encode())
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError, match=r"a\.csv\.gz is a damaged gzip file"):
        read(Dataset(path))
    path.write_bytes(packed[:-6] + b"\0\0" + packed[-4:])
    with pytest.raises(DataError, match=r"a\.csv\.gz is a damaged gzip file"):
        read(Dataset(path))
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match="is no gzip file"):
        Dataset(path)


def test_a_first_row_of_numbers_is_not_taken_for_a_header(file: Path) -> None:
    file.write_text("196\t242\t3\n186\t302\t4\n")
    options = CsvOptions(delimiter="\t")
    with pytest.raises(DataError, match=r"line 1: the header would be '196', '242', '3': numbers"):
        Dataset(file, csv=options)
    named = CsvOptions(delimiter="\t", has_header=False, names=["user", "item", "rating"])
    assert read(Dataset(file, csv=named)).rows() == [(196, 242, 3), (186, 302, 4)]
    # Names that count the columns, as pandas gives them, are names.
    file.write_text("0,1,2\n5,6,7\n")
    assert read(Dataset(file)).to_dicts() == [{"0": 5, "1": 6, "2": 7}]


def test_all_files_with_other_columns_are_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x\n3\n")
    (tmp_path / "c.csv").write_text("x,y,z\n4,5,6\n")
    (tmp_path / "d.csv").write_text("z\n7\n")
    with pytest.raises(
        DataError,
        match=r"'x' of .*a\.csv is missing in .*d\.csv; 'y' of .* in .*b\.csv, .*d\.csv",
    ):
        Dataset(tmp_path)


def test_a_file_of_another_width_than_the_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n")
    (tmp_path / "b.csv").write_text("1,2,3\n")
    options = CsvOptions(has_header=False, names=["x", "y"])
    with pytest.raises(DataError, match=r"b\.csv, line 1: 3 fields found, but .* 2 names"):
        Dataset(tmp_path, csv=options)


def test_columns_that_are_not_there(file: Path) -> None:
    file.write_text("user,price\n1,2\n")
    with pytest.raises(SchemaError, match=r"no column 'prise'. Did you mean 'price'"):
        Dataset(file, columns=["prise"])
    with pytest.raises(SchemaError, match=r"no column 'users'. Did you mean 'user'"):
        Dataset(file, dtypes={"users": "String"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ",,"}, "delimiter ',,': expected one ASCII character"),
        ({"delimiter": "\n"}, "delimiter"),
        ({"quote_char": ""}, "quote_char ''"),
        ({"delimiter": '"'}, "are both"),
        ({"on_malformed": "drop"}, "on_malformed 'drop': expected 'error' or 'skip'"),
        ({"missing_fields": "nulls"}, "Did you mean 'null'"),
        ({"names": []}, "names is empty"),
        ({"names": ["a", "b", "a"]}, "'a' more than once"),
        ({"names": "ab"}, "expected a list"),
        ({"infer_rows": 0}, "infer_rows 0"),
    ],
)
def test_options_are_checked(options: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        CsvOptions(**options)  # type: ignore[arg-type]
