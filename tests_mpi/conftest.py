"""Runs under mpirun, from a pytest that is not."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


def mpirun(ranks, *arguments):
    """Run this Python over some processes."""
    root = ["--allow-run-as-root"] if os.getuid() == 0 else []
    command = [shutil.which("mpirun"), *root, "--oversubscribe", "-n", str(ranks), sys.executable, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | ENVIRONMENT, timeout=240
    )


@pytest.fixture
def certify(tmp_path):
    """Certify a case's text over some processes; the certificate as read from its file, or the failed run."""

    def run(text, ranks, *arguments, refused=False, bundle=False):
        case = tmp_path / "case.toml"
        case.write_text(text, encoding="utf-8")
        out = tmp_path / f"out{ranks}"
        alone = ["--petsc", ""] if ranks == 1 and "--petsc" not in arguments else []  # else it runs as on one machine
        done = mpirun(ranks, "-m", "pinnpoint.cli.main", "certify", case, "--out", out, "--quiet", *alone, *arguments)
        if refused:
            assert not out.exists()
            return done
        assert done.returncode == 0, done.stderr
        assert sorted(p.name for p in Path(out).iterdir()) == [
            *(["bundle"] if bundle else []),
            "certificate.csv",
            "certificate.json",
            "field.vtu",
            "report.html",
        ]
        return json.loads((out / "certificate.json").read_text(encoding="utf-8"))

    return run
