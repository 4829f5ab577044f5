#!/bin/sh
# An environment with Debian's PETSc around the system's Python: tests_mpi/environment.sh FOLDER
# Prints why and leaves without the folder where PETSc is not there and cannot be installed.
set -eu
folder=$1
if [ -e "$folder/.done" ] && [ "$folder/.done" -nt pyproject.toml ]; then exit 0; fi
found() { ls -d /usr/lib/petscdir/petsc*/*-real/lib/python3/dist-packages 2>/dev/null | tail -1; }
ready() { [ -n "$(found)" ] && command -v mpirun >/dev/null && /usr/bin/python3 -c "import mpi4py, venv, ensurepip" 2>/dev/null; }
if ! ready; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "make test-mpi: skipped. It needs: apt install python3-petsc4py python3-mpi4py python3-venv openmpi-bin" >&2
        exit 0
    fi
    export DEBIAN_FRONTEND=noninteractive
    packages="python3-petsc4py python3-mpi4py python3-venv openmpi-bin"
    apt-get install -y -qq $packages >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq $packages >/dev/null; }
fi
if ! /usr/bin/python3 -c "import dolfinx" 2>/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-dolfinx >/dev/null 2>&1 ||
        echo "make test-mpi: DOLFINx could not be installed, its test is skipped" >&2
fi
/usr/bin/python3 -m venv --system-site-packages "$folder"
"$folder/bin/python" -m pip --disable-pip-version-check -q install -e . "numpy<2" "pytest>=8" "python-flint>=0.6"
found > "$("$folder/bin/python" -c "import sysconfig; print(sysconfig.get_path('purelib'))")/petsc.pth"
"$folder/bin/python" -c "from petsc4py import PETSc; print('PETSc', '.'.join(map(str, PETSc.Sys.getVersion())))"
touch "$folder/.done"
