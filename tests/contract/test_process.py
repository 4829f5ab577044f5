"""The process around a command: streams that are closed or full, signals at any moment, odd files and numbers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pinnpoint as pp
from pinnpoint.cases.read import read_case
from pinnpoint.cli.main import main

CASE = """[mesh]
generate = "square"
cells = 3
[problem]
kind = "reaction-diffusion"
source = "1"
[problem.dirichlet]
boundary = 0.0
[prediction]
zero = true
[certificate]
target = "discrete"
[[query]]
at = [0.4, 0.3]
"""
SOURCE = str(Path(pp.__file__).parent.parent)
unix = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def shell(line, folder, **more):
    """A line of sh, where $pinnpoint is the program."""
    environment = {**os.environ, "PYTHONPATH": SOURCE, "pinnpoint": f"{sys.executable} -m pinnpoint", **more}
    return subprocess.run(["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("process")
    (made / "case.toml").write_text(CASE, encoding="utf-8")
    assert main(["certify", str(made / "case.toml"), "--quiet"]) == 0
    return made


@unix
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ["--version", "verify case/bundle", "certify case.toml --out new"])
def test_a_full_stdout_is_told(folder, words, unbuffered):
    done = shell(f"$pinnpoint {words} > /dev/full", folder, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 2
    told = done.stderr.splitlines()[-1]
    assert told.startswith("pinnpoint: stdout: cannot be written (No space left")
    assert "Traceback" not in done.stderr


@unix
@pytest.mark.parametrize("where", ["2> /dev/full", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_and_a_full_stderr_change_nothing(folder, where):
    for words, code in (("certify none.toml", 2), ("certify case.toml --out other", 0)):
        done = shell(f"$pinnpoint {words} {where}", folder)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), (words, done.stderr)
    assert pp.io.read_mesh(folder / "other" / "field.vtu").dim == 2  # nothing was printed into a file


def test_a_closed_pipe_ends_quietly(folder):
    done = shell("{ $pinnpoint verify case/bundle; echo $? >&2; } | true", folder, PYTHONUNBUFFERED="1")
    assert done.stderr.strip() in ("0", "141")


# Signals

AT_IMPORT = """
import os, signal, sys
module, number = sys.argv[1], getattr(signal, sys.argv[2])
class Striker:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), number)
sys.meta_path.insert(0, Striker())
from pinnpoint.cli.main import main
sys.argv = ["pinnpoint", *sys.argv[3:]]
raise SystemExit(main())
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("module", ["argparse", "numpy", "scipy.sparse", "scipy.sparse.linalg"])
def test_a_signal_while_modules_are_loaded_ends_it_with_one_line(folder, module, name):
    words = [sys.executable, "-c", AT_IMPORT, module, name, "check", "case.toml"]
    done = subprocess.run(words, cwd=folder, env={**os.environ, "PYTHONPATH": SOURCE}, capture_output=True, text=True)
    if name == "SIGTERM" and module == "argparse":  # nothing of ours was loaded
        assert done.returncode == -signal.SIGTERM
        return
    word = "interrupted" if name == "SIGINT" else "terminated"
    assert (done.returncode, done.stderr) == (128 + getattr(signal, name), f"pinnpoint: {word}\n")


def test_an_ignored_signal_stays_ignored(folder):
    words = f"trap '' INT; {sys.executable} -c '{AT_IMPORT.replace(chr(39), chr(34))}' numpy SIGINT verify case/bundle"
    done = shell(words, folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_midst_leaves_nothing(tmp_path, number):
    (tmp_path / "case.toml").write_text(CASE.replace("cells = 3", "cells = 300"), encoding="utf-8")
    command = [sys.executable, "-m", "pinnpoint", "certify", "case.toml"]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    line = process.stderr.readline()
    while line and not line.startswith("locating"):
        line = process.stderr.readline()
    time.sleep(0.2)
    process.send_signal(number)
    said = process.communicate()[1]
    assert process.returncode == 128 + number
    assert said.endswith("ed\n")
    assert "Traceback" not in said
    assert os.listdir(tmp_path) == ["case.toml"]


# Files and numbers

ODD = {
    "an integer of 5,000 digits": CASE.replace("cells = 3", f"cells = {'9' * 5000}"),
    "5,000 digits where a float belongs": CASE.replace("[0.4, 0.3]", f"[0.4, {'9' * 5000}]"),
    "hexadecimal digits": CASE.replace("cells = 3", f"cells = 0x{'f' * 9000}"),
    "hexadecimal digits in a list": CASE.replace("[0.4, 0.3]", f"[0.4, 0x{'f' * 9000}]"),
    "hexadecimal digits as a formula": CASE.replace('"1"', f"0x{'f' * 9000}"),
    "hexadecimal digits as text": f"title = 0x{'f' * 9000}\n{CASE}",
    "an integer of 30 digits": CASE.replace("cells = 3", f"cells = {'9' * 30}"),
    "a huge exponent": CASE.replace("[0.4, 0.3]", "[0.4, 1e999999999]"),
    "a date": CASE.replace("cells = 3", "cells = 1979-05-27"),
    "a time as a formula": CASE.replace('"1"', "07:32:00"),
    "a date as a name": f"{CASE}name = 1979-05-27T07:32:00Z\n",
    "nested lists": CASE.replace("[0.4, 0.3]", "[" * 5000 + "]" * 5000),
    "some nested lists": CASE.replace("[0.4, 0.3]", "[" * 60 + "]" * 60),
    "nested tables": f"{CASE}[{'.'.join('a' * 5000)}]\n",
    "dotted keys": f"{CASE}{'.'.join('a' * 5000)} = 1\n",
    "inline tables": CASE.replace("[0.4, 0.3]", "{a=" * 300 + "1" + "}" * 300),
    "NUL": f"title = 'a\0b'\n{CASE}",
    "an escaped NUL": f'title = "a\\u0000b"\n{CASE}',
    "a surrogate": f'title = "\\ud800"\n{CASE}',
    "a lone carriage return": CASE.replace("\n", "\r"),
    "infinity": CASE.replace("[0.4, 0.3]", "[0.4, inf]"),
    "nan as a formula": CASE.replace('"1"', "nan"),
    "only spaces": "   \n",
    "a key twice": f"{CASE}at = [0.5, 0.5]\n",
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_case_file_is_refused_with_one_line(tmp_path, capsys, name):
    (tmp_path / "case.toml").write_bytes(ODD[name].encode("utf-8"))
    assert main(["check", str(tmp_path / "case.toml")]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert len(told.err) < 600
    assert os.listdir(tmp_path) == ["case.toml"]


def test_marks_and_line_ends_of_other_systems_are_read(tmp_path):
    for data in (b"\xef\xbb\xbf" + CASE.encode(), CASE.replace("\n", "\r\n").encode()):
        (tmp_path / "case.toml").write_bytes(data)
        assert read_case(tmp_path / "case.toml").mesh.cells == 3


@pytest.mark.parametrize("data", [CASE.encode("utf-16"), CASE.encode("utf-32"), b"title = '\xe9'\n", b"\x00" * 99])
def test_a_case_that_is_not_utf8_is_refused(tmp_path, capsys, data):
    (tmp_path / "case.toml").write_bytes(data)
    assert main(["check", str(tmp_path / "case.toml")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "text",
    [
        f"mesh.cells=0x{'f' * 9000}",
        f"mesh.cells={'9' * 5000}",
        "a" + ".a" * 5000 + "=1",
        f"title={'[' * 5000}",
        "title=\ud800",
    ],
)
def test_odd_overrides_are_refused(tmp_path, capsys, text):
    (tmp_path / "case.toml").write_text(CASE, encoding="utf-8")
    assert main(["check", str(tmp_path / "case.toml"), "--set", text]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@unix
def test_devices_pipes_and_folders_are_no_case_files(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.toml")
    for path in ("/dev/zero", "/dev/full", "/dev/null", tmp_path / "pipe.toml", tmp_path, "no\0name"):
        assert main(["check", str(path)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    (tmp_path / "case.toml").write_text(CASE.replace('generate = "square"\ncells = 3', 'file = "a.msh"'))
    os.mkfifo(tmp_path / "a.msh")
    assert main(["check", str(tmp_path / "case.toml")]) == 2
    assert "pipe" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")
def test_names_of_files_that_are_not_text(tmp_path, capsys):
    for name in (b"caf\xe9", b"two\nlines"):
        path = Path(os.fsdecode(bytes(tmp_path) + b"/" + name + b".toml"))
        path.write_text(CASE, encoding="utf-8")
        assert main(["certify", str(path)]) == 0, capsys.readouterr().err
        told = capsys.readouterr()
        assert told.out.splitlines()[0] in (r"caf\xe9", r"two\nlines")
        assert main(["verify", str(path.with_suffix("") / "bundle")]) == 0
        capsys.readouterr()
    assert main(["certify", str(tmp_path / "no\nfile.toml")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@unix
def test_places_that_cannot_be_written_are_refused(tmp_path, capsys):
    (tmp_path / "case.toml").write_text(CASE, encoding="utf-8")
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", "/dev/full", "/dev/full/a", "/proc/1/fd/a", "/proc/new"):
        assert main(["certify", str(tmp_path / "case.toml"), "--quiet", "--out", str(out)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["case.toml", "file"]


def test_a_disk_that_is_full_is_no_bug(tmp_path, capsys, monkeypatch):
    (tmp_path / "case.toml").write_text(CASE, encoding="utf-8")

    def full(*arguments, **options):
        raise OSError(28, "No space left on device", "x")

    monkeypatch.setattr("pinnpoint.cli.check.build", full)
    assert main(["check", str(tmp_path / "case.toml")]) == 2
    assert capsys.readouterr().err == "pinnpoint: 'x': No space left on device\n"
    monkeypatch.setattr("pinnpoint.outputs.draft.write_csv", full)
    assert main(["certify", str(tmp_path / "case.toml"), "--quiet"]) == 2
    assert "No space left" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["case.toml"]


def test_a_command_without_its_packages_names_them(tmp_path, capsys, monkeypatch):
    for name in [m for m in sys.modules if m.partition(".")[0] in ("skfem",) or m.startswith("pinnpoint.cli.check")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pinnpoint.cases.study", None)
    (tmp_path / "case.toml").write_text(CASE, encoding="utf-8")
    assert main(["check", str(tmp_path / "case.toml")]) == 3  # a module of our own that is missing is a bug
    capsys.readouterr()

    def missing(*arguments):
        raise ModuleNotFoundError("No module named 'skfem'", name="skfem")

    monkeypatch.setattr("importlib.import_module", missing)
    assert main(["check", str(tmp_path / "case.toml")]) == 2
    assert "needs skfem" in capsys.readouterr().err


# Logs


@unix
def test_a_log_that_is_no_file_is_refused(tmp_path):
    system = pp.LinearSystem([[2.0]], [1.0])
    prepared = pp.Exact().prepare(system, pp.Queries([[1.0]]))
    os.mkfifo(tmp_path / "pipe")
    for log in ("/dev/full", "/dev/zero", "/dev/null", tmp_path / "pipe", tmp_path):
        with pytest.raises(pp.InputError, match="log: "):
            pp.Monitor(prepared, 0.1, log=log)


def test_a_decision_that_cannot_be_logged_is_not_made(tmp_path, monkeypatch):
    from pinnpoint.monitoring.monitor import read_log

    prepared = pp.Exact().prepare(pp.LinearSystem([[2.0]], [1.0]), pp.Queries([[1.0]]))
    with pp.Monitor(prepared, 0.1, log=tmp_path / "log") as monitor:
        assert monitor.check([0.5], label="first").action == "accept"
        real = monitor._log.file

        class Full:
            fileno = real.fileno

            def write(self, data):
                real.write(data[:10])
                raise OSError(28, "No space left on device")

        monitor._log.file = Full()
        with pytest.raises(pp.PinnpointError, match="log: could not be written"):
            monitor.check([0.5], label="second")
        monitor._log.file = real
        assert monitor.check([0.5], label="third").action == "accept"
        assert monitor.counts["accept"] == 2
    assert [row["label"] for row in read_log(tmp_path / "log")] == ["first", "third"]


@unix
def test_a_device_is_never_replaced(tmp_path):
    cert = pp.certify(pp.LinearSystem([[2.0]], [1.0]), [0.5], pp.Queries([[1.0]]))
    (tmp_path / "null.json").symlink_to("/dev/null")
    with pytest.raises(pp.InputError, match="no regular file"):
        cert.to_json(tmp_path / "null.json")
    (tmp_path / "full.csv").symlink_to("/dev/full")
    with pytest.raises(pp.InputError, match="no regular file"):
        pp.campaigns.run(len, [], tmp_path / "full.csv")
