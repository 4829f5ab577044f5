"""Memory that can still be had: of the machine, of the process's groups (cgroups), and under its own limits (ulimit).

Whatever cannot be read does not count; nothing here fails.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

GROUPS = {
    2: ("memory.max", "memory.current", "inactive_file"),
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""For each version of cgroups: its limit, what is in use, and what of that is files that would be dropped."""


def free_memory(root: Path = Path("/")) -> float:
    """Bytes that can still be used; infinite where nothing is known. The system's files are looked up under `root`."""
    return max(0.0, min(_machine(root), _groups(root), _limits(root)))


def _machine(root: Path) -> float:
    available = _fields(root / "proc/meminfo").get("MemAvailable")
    if available is not None:
        return available
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * float(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def _groups(root: Path) -> float:
    """The least that the group of this process, or one around it, leaves; in a container the outermost may be "/"."""
    free = math.inf
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, kinds, path = [*line.split(":", 2), "", ""][:3]
        version = 2 if number == "0" and not kinds else 1
        if version == 1 and "memory" not in kinds.split(","):
            continue
        limit, use, files = GROUPS[version]
        for group in _upward(root / ("sys/fs/cgroup" if version == 2 else "sys/fs/cgroup/memory"), path):
            most = _number(_text(group / limit))
            used = _number(_text(group / use))
            if math.isfinite(most):
                spare = _fields(group / "memory.stat", " ", 1.0).get(files, 0.0)
                free = min(free, most - max(0.0, (used if math.isfinite(used) else 0.0) - spare))
    return free


def _upward(top: Path, path: str) -> Iterator[Path]:
    parts = [p for p in path.split("/") if p not in ("", ".", "..")]
    for k in range(len(parts), -1, -1):
        yield top.joinpath(*parts[:k])


def _limits(root: Path) -> float:
    """What `ulimit -v` and `ulimit -d` leave."""
    try:
        import resource
    except ImportError:  # not on Windows
        return math.inf
    status = _fields(root / "proc/self/status")
    free = math.inf
    for name, field in (("RLIMIT_AS", "VmSize"), ("RLIMIT_DATA", "VmData")):
        try:
            most = resource.getrlimit(getattr(resource, name))[0]
        except (AttributeError, ValueError, OSError):
            continue
        if most != resource.RLIM_INFINITY:
            free = min(free, float(most) - status.get(field, 0.0))
    return free


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.inf


def _fields(path: Path, mark: str = ":", unit: float = 1024.0) -> dict[str, float]:
    """Lines "name: number", the numbers in kB unless told otherwise."""
    numbers = {}
    for line in _text(path).splitlines():
        name, _, size = line.partition(mark)
        value = _number(size.split()[0]) if size.split() else math.inf
        if math.isfinite(value):
            numbers[name] = unit * value
    return numbers
