"""What is found out about a file can be said instead; the output then follows what was said."""

import pytest
from geonce_fixtures import Geonce

POINTS = "LON,LAT,NUMBER,STREET,CITY,REGION,POSTCODE\n-119.81,39.52,12,Oak St,Reno,NV,89501\n-119.82,39.53,14,Oak St,Reno,NV,89501\n"


@pytest.fixture
def batch(tmp_path):
    """Writes the bytes to in.csv and runs a batch over them: exit code, messages, bytes of the output."""
    program = Geonce(tmp_path / "geonce", "", chain=("places",))
    assert program.run("places", "load", "-", "--country", "US", input=POINTS).rc == 0

    def run(source, *flags, output="out.csv"):
        (program.directory / "in.csv").write_bytes(source)
        done = program.run("batch", "in.csv", "-o", output, "--default-country", "US", *flags)
        out = program.directory / output
        return done, out.read_bytes() if out.exists() else None

    return run


# One line feed in a file of carriage returns: by the look of it, the whole file is its header.
MIXED = b"address\r12 Oak St Reno NV 89501\r14 Oak St Reno NV 89501\n"


def test_a_file_of_carriage_returns_with_one_line_feed_is_read_as_it_was_said(batch):
    done, out = batch(MIXED)
    assert (done.rc, out) == (2, None), done.err
    done, out = batch(MIXED, "--line-end", "cr", "--address", "address")
    assert done.rc == 0, done.err
    assert out.split(b"\r")[0].startswith(b"address,geo_status,")
    rows = out.split(b"\r", 1)[1]
    first, second = rows.split(b"\r")
    assert first.startswith(b"12 Oak St Reno NV 89501,match,39.5200000,")
    assert second.startswith(b"14 Oak St Reno NV 89501,match,39.5300000,")
    assert out.endswith(b"\n") and out.count(b"\n") == 1


def test_a_lone_carriage_return_is_text_when_lines_were_said_to_end_otherwise(batch):
    source = b"id,address\r1,12 Oak St Reno NV 89501\r"
    done, out = batch(source)
    assert done.rc == 0 and b",match,39.52" in out, done.err
    done, out = batch(source, "--line-end", "lf", "--address", "2")
    assert out is None or b"match" not in out


@pytest.mark.parametrize("line_end, text", [("lf", b"\n"), ("crlf", b"\r\n"), ("cr", b"\r")])
def test_rows_that_are_written_anew_end_as_was_said(batch, line_end, text):
    source = b"id,address\n1,12 Oak St Reno NV 89501\n2,14 Oak St Reno NV 89501\n"
    done, out = batch(source, "--line-end", line_end, "--address", "address", output="out.tsv")
    assert done.rc == 0, done.err
    assert out.endswith(text)
    lines = out.removesuffix(text).split(text)
    assert len(lines) == 3
    assert not any(b"\n" in line or b"\r" in line for line in lines)
    assert all(line.count(b"\t") == lines[0].count(b"\t") > 2 for line in lines)


@pytest.mark.parametrize("line_end", ["lf", "crlf"])
def test_rows_that_keep_their_bytes_keep_their_line_ends(batch, line_end):
    source = b"id,address\r\n1,12 Oak St Reno NV 89501\n2,14 Oak St Reno NV 89501\r\n"
    done, out = batch(source, "--line-end", line_end)
    assert done.rc == 0, done.err
    ends = [line[-2:] == b"\r\n" for line in out.splitlines(keepends=True)]
    assert ends == [True, False, True]


@pytest.mark.parametrize("option", ["--line-end", "--delimiter", "--quote", "--encoding", "--input-format"])
def test_an_unknown_word_is_an_error_that_names_the_known_ones(batch, option):
    done, out = batch(b"address\nx\n", option, "wobbly")
    assert (done.rc, out) == (2, None)
    assert "wobbly" in done.err and "geonce: " in done.err
