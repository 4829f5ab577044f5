"""Stresses of plane decks are stresses, whatever the thickness."""

import numpy as np
import pytest

import pinnpoint as pp

HELD = """SOL 101
CEND
SUBCASE 1
  SPC = 1
  TEMP(LOAD) = 3
BEGIN BULK
GRID,1,,0.,0.,0.
GRID,2,,1.,0.,0.
GRID,3,,1.,1.,0.
GRID,4,,0.,1.,0.
GRID,5,,.5,.5,0.
CTRIA3,1,1,1,2,5
CTRIA3,2,1,2,3,5
CTRIA3,3,1,3,4,5
CTRIA3,4,1,4,1,5
PSHELL,1,1,THICK
MAT1,1,200.,,0.,0.,.01,0.
SPC1,1,12,1,2,3,4
TEMPD,3,5.
ENDDATA
"""


def bar(first, second, load="*DLOAD\n3, P2, -10."):
    """A bar of two squares with these thicknesses, pulled by 10 at its right end; E = 200, ν = 0."""
    nodes = [(x, y) for x in (0.0, 0.5, 1.0) for y in (0.0, 1.0)]
    text = "*NODE\n" + "".join(f"{i + 1}, {x}, {y}\n" for i, (x, y) in enumerate(nodes))
    text += "*ELEMENT, TYPE=CPS3, ELSET=A\n1, 1,3,4\n2, 1,4,2\n*ELEMENT, TYPE=CPS3, ELSET=B\n3, 3,5,6\n4, 3,6,4\n"
    text += "*NSET, NSET=X0\n1,2\n*MATERIAL, NAME=M\n*ELASTIC\n200., 0.\n"
    text += f"*SOLID SECTION, ELSET=A, MATERIAL=M\n{first}\n*SOLID SECTION, ELSET=B, MATERIAL=M\n{second}\n"
    return text + f"*BOUNDARY\nX0,1,2\n*STEP\n*STATIC\n{load}\n*END STEP\n"


@pytest.mark.parametrize("thickness", [1.0, 0.1, 3.0])
def test_a_held_plate_has_the_thermal_stress_of_its_material(tmp_path, thickness):
    """−E α ϑ = −10, also as a von Mises stress, and its limit is decided by it."""
    (tmp_path / "t.bdf").write_text(HELD.replace("THICK", repr(thickness)))
    solid = pp.io.read_deck(tmp_path / "t.bdf").solid(1)
    c = pp.certify(solid, np.zeros((5, 2)), solid.stress([[0.5, 0.4]], "xx", ["s"]) + solid.von_mises([[0.5, 0.4]]))
    assert c.lower[0] <= -10.0 <= c.upper[0]
    assert c.radius[0] < 1e-6
    assert c.derived[0].contains(10.0)


@pytest.mark.parametrize("thickness", [1.0, 0.25])
def test_pressure_gives_the_same_stress_for_any_thickness_and_forces_are_divided_by_it(tmp_path, thickness):
    (tmp_path / "p.inp").write_text(bar(thickness, thickness))
    (tmp_path / "f.inp").write_text(bar(thickness, thickness, "*CLOAD\n5, 1, 5.\n6, 1, 5."))
    solid = pp.io.read_deck(tmp_path / "p.inp").solid(1)
    c = pp.certify(solid, np.zeros((6, 2)), solid.stress("A", "xx") + solid.reaction("held 1", "x"))
    for k, truth in enumerate((10.0, -10.0)):  # the reaction per unit of thickness
        assert c.lower[k] <= truth <= c.upper[k]
        assert c.radius[k] < 1e-8
    at_nodes = pp.io.read_deck(tmp_path / "f.inp").problem(1)
    np.testing.assert_allclose(at_nodes.total_load, [10.0 / thickness, 0.0], atol=1e-12)
    assert any("per unit of thickness" in note for note in c.notes) == (thickness != 1.0)


def test_stresses_of_several_thicknesses_are_refused_and_strains_are_right(tmp_path):
    """The thin half takes twice the strain: 10/200 in it, 5/200 in the thick one."""
    (tmp_path / "t.inp").write_text(bar(1.0, 0.5))
    solid = pp.io.read_deck(tmp_path / "t.inp").solid(1)
    for ask in (lambda: solid.stress("B", "xx"), lambda: solid.von_mises("B"), lambda: solid.principal([[0.7, 0.4]])):
        with pytest.raises(pp.InputError, match=r"several thicknesses.*strains"):
            ask()
    c = pp.certify(solid, np.zeros((6, 2)), solid.strain("A", "xx") + solid.strain("B", "xx"))
    for k, truth in enumerate((5.0 / 200.0, 10.0 / 200.0)):
        assert c.lower[k] - 1e-15 <= truth <= c.upper[k] + 1e-15
        assert c.radius[k] < 1e-9
    assert any("0.5 to 1" in note for note in c.notes)


def test_plane_is_for_triangles_and_poisson_leaves_room_below_one_half():
    with pytest.raises(pp.InputError, match="plane: is for triangles"):
        pp.fem.Elasticity(pp.io.generate("cube", 1), 1.0, 0.3, fixed={"left": 0.0}, plane="stress")
    with pytest.raises(pp.InputError, match=r"poisson: .*so near 0\.5"):
        pp.fem.Elasticity(pp.io.generate("square", 2), 1.0, np.nextafter(0.5, 0.0), fixed={"left": 0.0})
