"""Systems without fork, /proc, fcntl, resource and POSIX signals, simulated: everything has a fall-back."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import types

import pytest

import pinnpoint as pp
from pinnpoint.base.free_memory import free_memory
from pinnpoint.campaigns.growing import FAR, lock

BARE = r"""
import builtins, io, os, signal, sys, threading

for name in ("fcntl", "resource", "termios", "pwd", "grp", "pty", "syslog"):
    sys.modules[name] = None
for name in ("fork", "forkpty", "register_at_fork", "sched_getaffinity", "sysconf", "getuid", "geteuid", "getppid",
             "setsid", "killpg", "mkfifo", "fchmod", "chown", "getpgid", "wait", "nice", "statvfs"):
    if name in os.__dict__:
        delattr(os, name)
for name in ("SIGHUP", "SIGPIPE", "SIGKILL", "SIGUSR1", "SIGALRM", "SIGCHLD", "pthread_sigmask"):
    if name in signal.__dict__:
        delattr(signal, name)
plain = builtins.open


def without_proc(file, *given, **named):
    if str(file).startswith(("/proc", "/sys/fs", "/dev/shm")):
        raise FileNotFoundError(file)
    return plain(file, *given, **named)


builtins.open = io.open = without_proc
from pinnpoint.cli.main import main

out = sys.argv[1]
case = plain(out + "/case.toml", "w", encoding="utf-8")
case.write('''
title = "Square"
[mesh]
generate = "square"
cells = 8
[problem]
kind = "reaction-diffusion"
source = "1"
[problem.dirichlet]
boundary = 0.0
[prediction]
expression = "x*(1-x)*y*(1-y)"
[[query]]
name = "centre"
kind = "point"
at = [0.5, 0.5]
''')
case.close()
codes = [main(["certify", out + "/case.toml", "--out", out + "/found", "--quiet"])]
codes.append(main(["verify", out + "/found/bundle"]))
codes.append(main(["doctor"]))
print("codes", codes)
"""


def test_a_system_without_posix_certifies_and_verifies(tmp_path):
    done = subprocess.run([sys.executable, "-c", BARE, str(tmp_path)], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert "codes [0, 0, 0]" in done.stdout, done.stdout + done.stderr
    assert (tmp_path / "found" / "report.html").exists()


def windows(monkeypatch):
    """No fcntl; a module msvcrt whose locks are kept here, by file."""
    held: set[tuple[int, int]] = set()
    asked = []

    def locking(number, mode, length):
        place = (os.fstat(number).st_ino, os.lseek(number, 0, os.SEEK_CUR))
        asked.append((place[1], mode, length))
        if place in held:
            raise PermissionError("locked")
        held.add(place)

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(LK_NBLCK=2, locking=locking))
    return asked


def test_files_are_locked_on_windows(monkeypatch, tmp_path):
    asked, path = windows(monkeypatch), tmp_path / "table.csv"
    path.write_text("name,value\n", encoding="utf-8")
    with path.open("r+b") as first, path.open("r+b") as second:
        first.seek(5)
        lock(first, path)
        assert first.tell() == 5
        assert asked == [(FAR, 2, 1)]  # one byte beyond all data, without waiting
        with pytest.raises(pp.InputError, match="being written by another run"):
            lock(second, path)
        assert second.tell() == 0
    assert path.read_text(encoding="utf-8") == "name,value\n"


def test_files_are_locked_here(tmp_path):
    pytest.importorskip("fcntl", reason="POSIX")
    path = tmp_path / "table.csv"
    with path.open("wb") as first, path.open("r+b") as second:
        lock(first, path)
        with pytest.raises(pp.InputError, match="being written by another run"):
            lock(second, path)


def test_without_any_locks_nothing_is_refused(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", None)
    with (tmp_path / "table.csv").open("wb") as first, (tmp_path / "table.csv").open("r+b") as second:
        lock(first, tmp_path / "table.csv")
        lock(second, tmp_path / "table.csv")


def test_memory_is_not_known_where_nothing_says_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.delattr(os, "sysconf", raising=False)
    assert free_memory(tmp_path) == math.inf
