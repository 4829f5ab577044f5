"""`verify --inputs` reads .vtu, .inp and .bdf files itself: honest ones verify, others with a fitting digest do not."""

from __future__ import annotations

import base64
import hashlib
import zlib

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cli.main import main
from pinnpoint.io.meshes.vtu import write_vtu
from pinnpoint_verify.mesh_files import Unread, vtu
from pinnpoint_verify.nastran import Bulk
from tests.contract.test_verify_inputs import CASE, simplices
from tests.soundness.test_bundle_forged import Forger
from tests.support.decks import Beam, Part


def coded(a, form, dtype):
    """An array as VTK's files have it."""
    raw = np.asarray(a, dtype=dtype).tobytes()
    if form == "ascii":
        return " ".join(map(repr, np.asarray(a).ravel().tolist()))
    if form == "zlib":
        packed = zlib.compress(raw)
        head = np.array([1, len(raw), 0, len(packed)], dtype="<u4").tobytes()
        return (base64.b64encode(head) + base64.b64encode(packed)).decode()
    return base64.b64encode(np.array([len(raw)], dtype="<u4").tobytes() + raw).decode()


def grid(form, swap=False):
    """Two materials and two sides, as `old` of the .msh tests has them."""
    X, T, material, sides = simplices(3)
    flat = [*(i for row in T.tolist() for i in row), *(i for _, a, b in sides for i in (a, b))]
    ends = [*(3 * np.arange(1, len(T) + 1)), *(3 * len(T) + 2 * np.arange(1, len(sides) + 1))]
    tags = [*material.tolist(), *(tag for tag, _, _ in sides)]
    kinds = {"ascii": "ascii", "binary": "binary", "zlib": "binary"}

    def array(name, a, kind, dtype, more=""):
        text = coded(a, form, dtype)
        return f'<DataArray type="{kind}" Name="{name}" {more} format="{kinds[form]}">{text}</DataArray>'

    left, right = (4, 3) if swap else (3, 4)
    named = {"left": [left, 1], "right": [right, 1], "iron": [1, 2], "air": [2, 2]}
    packed = ' compressor="vtkZLibDataCompressor"' if form == "zlib" else ""
    return "\n".join(
        [
            f'<VTKFile type="UnstructuredGrid" version="0.1" byte_order="LittleEndian"{packed}><UnstructuredGrid>',
            "<FieldData>",
            *(array(name, pair, "Int64", "<i8", 'NumberOfTuples="2"') for name, pair in named.items()),
            f'</FieldData><Piece NumberOfPoints="{len(X)}" NumberOfCells="{len(tags)}"><Points>',
            array("Points", np.pad(X, ((0, 0), (0, 1))), "Float64", "<f8", 'NumberOfComponents="3"'),
            "</Points><Cells>",
            array("connectivity", flat, "Int64", "<i8"),
            array("offsets", ends, "Int64", "<i8"),
            array("types", [5] * len(T) + [3] * len(sides), "UInt8", "|u1"),
            "</Cells><CellData>",
            array("gmsh:physical", tags, "Int64", "<i8"),
            "</CellData></Piece></UnstructuredGrid></VTKFile>",
        ]
    )


def abaqus(swap=False):
    X, T, material, sides = simplices(3)
    nodes = {tag: sorted({k + 1 for t, a, b in sides for k in (a, b) if t == tag}) for tag in (3, 4)}
    left, right = (4, 3) if swap else (3, 4)
    lines = ["*NODE", *(f"{i + 1}, {x!r}, {y!r}, 0." for i, (x, y) in enumerate(X.tolist()))]
    for m, name in ((1, "iron"), (2, "air")):
        lines += [f"*ELEMENT, TYPE=CPS3, ELSET={name}"]
        lines += [f"{e + 1}, {a + 1}, {b + 1}, {c + 1}" for e, (a, b, c) in enumerate(T.tolist()) if material[e] == m]
    for name, tag in (("left", left), ("right", right)):
        lines += [f"*NSET, NSET={name}", *(f"{k}" for k in nodes[tag])]
    return "\n".join([*lines, ""])


MESHES = {
    "ascii.vtu": (lambda: grid("ascii"), lambda: grid("ascii", True)),
    "binary.vtu": (lambda: grid("binary"), lambda: grid("binary", True)),
    "zlib.vtu": (lambda: grid("zlib"), lambda: grid("zlib", True)),
    "part.inp": (abaqus, lambda: abaqus(True)),
}
SAID = "cells, group 'left', group 'right', diffusion of groups"


def certified(folder, name, case):
    (folder / "case.toml").write_text(case)
    assert main(["certify", str(folder / "case.toml"), "--out", str(folder / "o"), "--quiet"]) in (0, 1)
    return folder / name


def verdict(folder, capsys):
    capsys.readouterr()
    code = main(["verify", str(folder / "o/bundle"), "--inputs", str(folder)])
    return code, capsys.readouterr().out


def resealed(folder, path, word):
    """The digest of a file as it is now, in the certificate."""
    forger = Forger(folder / "o/bundle")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    forger.json("certificate.json", lambda d: d["inputs"][word].update(sha256=digest))
    forger.seal()


def test_a_mesh_that_the_checker_cannot_read_stays_declared(tmp_path, capsys):
    X, T, _, _ = simplices(3)
    lines = ["# vtk DataFile Version 3.0", "two squares", "ASCII", "DATASET UNSTRUCTURED_GRID"]
    lines += [f"POINTS {len(X)} double", *(f"{x!r} {y!r} 0" for x, y in X.tolist()), f"CELLS {len(T)} {4 * len(T)}"]
    lines += [*(f"3 {a} {b} {c}" for a, b, c in T.tolist()), f"CELL_TYPES {len(T)}", *["5"] * len(T), ""]
    (tmp_path / "part.vtk").write_text("\n".join(lines))
    case = (
        CASE.replace("part.msh", "part.vtk").replace('file = "f.npz"', 'expression = "x"').replace("left", "boundary")
    )
    case = case.replace("{ iron = 1.0, air = 5.0 }", "1.0").replace("[problem.neumann]\nright = 1.0\n", "")
    certified(tmp_path, "part.vtk", case)
    code, out = verdict(tmp_path, capsys)
    assert code == 0, out
    assert "verified: mesh part.vtk: its SHA-256 alone (a mesh in a .vtk file: not read here)" in out
    assert "declared: mesh and prediction" in out


@pytest.mark.parametrize("target", ["continuous", "discrete"])
@pytest.mark.parametrize("name", MESHES)
def test_cells_groups_and_coefficients_are_those_of_the_file(tmp_path, capsys, name, target):
    path = tmp_path / name
    path.write_text(MESHES[name][0]())
    mesh = pp.io.read_mesh(path)
    write_vtu(tmp_path / "u.vtu", mesh, {"u": 0.3 * mesh.points[:, 0]})
    case = CASE.replace("part.msh", name).replace('"f.npz"', '"u.vtu"\nfield = "u"')
    certified(tmp_path, name, case + f'[certificate]\ntarget = "{target}"\n')
    code, out = verdict(tmp_path, capsys)
    assert code == 0, out
    assert f"verified: mesh {name}: its SHA-256, {SAID}" in out
    assert "verified: prediction u.vtu: its SHA-256, field 'u' at the nodes" in out
    assert "declared: mesh and prediction" not in out
    path.write_text(MESHES[name][1]())
    resealed(tmp_path, path, "mesh")
    code, out = verdict(tmp_path, capsys)
    assert code == 1
    assert "not the mesh file's group" in out


def test_another_field_is_refused(tmp_path, capsys):
    (tmp_path / "part.inp").write_text(abaqus())
    mesh = pp.io.read_mesh(tmp_path / "part.inp")
    write_vtu(tmp_path / "u.vtu", mesh, {"u": 0.3 * mesh.points[:, 0]})
    certified(tmp_path, "part.inp", CASE.replace("part.msh", "part.inp").replace('"f.npz"', '"u.vtu"\nfield = "u"'))
    write_vtu(tmp_path / "u.vtu", mesh, {"u": 0.3 * mesh.points[:, 0] + 1e-9})
    resealed(tmp_path, tmp_path / "u.vtu", "prediction")
    assert "the stored state does not have the field 'u'" in verdict(tmp_path, capsys)[1]


DECK = """[problem]
deck = "{}"
[prediction]
zero = true
[[query]]
name = "tip"
at = [0.5, 0.5, 0.9]
component = "x"
[certificate]
target = "discrete"
"""
FORCED = ["*Step", "*Static", "*Cload", "end, 1, 5.0", "20, 2, -3.0", "*Node file", "U", "*End Step", ""]


def nodal():
    text = Part(shape=(1, 2, 2)).abaqus(FORCED)
    ids = text.partition("*Nset, nset=end\n")[2].partition("\n*")[0]
    head = text.partition("*Surface")[0]
    rest = text.partition("*Solid Section")[2].replace("end, 1, 6", "held, 1, 3")
    first = ids.split(",")[0]
    return f"{head}*Nset, nset=held\n5, 8, 11, 14, 17, {first}\n*Solid Section{rest}"


DECKS = {
    "part.bdf": (
        lambda: Beam(shape=(1, 2, 2)).deck(),
        {
            "forces": lambda s: s.replace("1.+3", "1.1+3", 1),
            "material": lambda s: s.replace("3.0+7", "3.1+7"),
            "ratio": lambda s: s.replace(".3      7.4-4", ".31     7.4-4"),
            "supports": lambda s: s.replace("SPCADD  2       1 ", "SPCADD  2       3 "),
            "a factor": lambda s: s.replace("LOAD    2       1.      2. ", "LOAD    2       1.      2.5"),
        },
    ),
    "part.inp": (
        nodal,
        {
            "forces": lambda s: s.replace("20, 2, -3.0", "23, 2, -3.0"),
            "material": lambda s: s.replace("30000000.0", "30000001.0"),
            "supports": lambda s: s.replace("held, 1, 3", "held, 1, 2"),
        },
    ),
}


@pytest.mark.parametrize("name", DECKS)
def test_the_system_is_that_of_the_deck(tmp_path, capsys, name):
    """Cells, materials, supports and forces at nodes, of a deck that the checker reads by itself."""
    path, (make, others) = tmp_path / name, DECKS[name]
    honest = make()
    path.write_text(honest)
    certified(tmp_path, name, DECK.format(name))
    code, out = verdict(tmp_path, capsys)
    assert code == 0, out
    assert f"verified: deck {name}: its SHA-256, cells, materials, supports and forces as stored" in out
    for what, change in others.items():
        assert change(honest) != honest, what
        path.write_text(change(honest))
        resealed(tmp_path, path, "deck")
        code, out = verdict(tmp_path, capsys)
        assert code == 1, what
        assert "deck" in out, (what, out)


def test_cards_and_keywords_that_may_change_the_physics_are_not_read(tmp_path, capsys):
    text = Beam(shape=(1, 1, 2)).deck()
    with pytest.raises(Unread, match="TEMPRB"):
        Bulk(text.replace("ENDDATA", "TEMPRB,1,20.\nENDDATA")).solid(1)
    with pytest.raises(Unread, match="MPC"):
        Bulk(text.replace("   SPC = 2", "   SPC = 2\n   MPC = 4")).solid(1)
    with pytest.raises(Unread, match="coordinate systems"):
        Bulk(text.replace("GRID    5       ", "GRID    5       3")).solid(1)
    path = tmp_path / "part.inp"
    path.write_text(Part(shape=(1, 1, 2)).abaqus())
    certified(tmp_path, "part.inp", DECK.format("part.inp"))
    code, out = verdict(tmp_path, capsys)
    assert code == 0
    assert "deck part.inp: its SHA-256 alone (*DSLOAD: not read here)" in out


def test_vtu_files_with_entities_or_several_pieces_are_not_followed():
    with pytest.raises(Exception, match="declarations"):
        vtu(b'<!DOCTYPE a [<!ENTITY b "c">]><VTKFile></VTKFile>')
    with pytest.raises(Unread, match="pieces"):
        vtu(b"<VTKFile><UnstructuredGrid><Piece/><Piece/></UnstructuredGrid></VTKFile>")
