"""Solids that others have computed: Cook's membrane, plates with holes, cantilevers, NAFEMS' plates, beams, rings."""

from __future__ import annotations

from itertools import permutations

import numpy as np

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.refine import Refiner

SIDES = (("left", "right"), ("bottom", "top"), ("front", "back"))
"""Names of the sides of a block, by axis."""


def block(counts, place=lambda X: X, *, cell_groups=None, split=()):
    """A unit cube in Kuhn's simplices, moved by `place`; sides have names, and those in `split` one for each facet too.

    `cell_groups` maps names to functions of the centroids.
    """
    d = len(counts)
    X = np.stack(np.meshgrid(*[np.arange(n + 1) / n for n in counts], indexing="ij"), -1).reshape(-1, d)
    number = np.arange(len(X)).reshape([n + 1 for n in counts])
    corner = number[(slice(-1),) * d].ravel()
    steps = [int(np.prod([n + 1 for n in counts[k + 1 :]])) for k in range(d)]
    cells = np.concatenate([np.stack([corner + s for s in np.cumsum([0, *way])], 1) for way in permutations(steps)])
    groups = {}
    for axis, names in enumerate(SIDES[:d]):
        for end, name in zip((0.0, 1.0), names, strict=True):
            on = X[cells][:, :, axis] == end
            rows = np.flatnonzero(on.sum(axis=1) == d)
            groups[name] = cells[rows][on[rows]].reshape(-1, d)
            if name in split:
                groups |= {f"{name}{k}": groups[name][k : k + 1] for k in range(len(rows))}
    points = place(X)
    middle = points[cells].mean(axis=1)
    return Mesh(points, cells, {name: np.asarray(f(middle)) for name, f in (cell_groups or {}).items()}, groups)


def bisected(problem, times):
    """The same body, bisected everywhere so many times."""
    refiner = Refiner(problem.mesh)
    for _ in range(times):
        refiner.refine(np.arange(len(refiner.mesh.cells)))
        problem = problem.refined(refiner.mesh, refiner.parents)
    return problem


def cook(n, *, degree=2, poisson=1.0 / 3.0, plane="stress", young=1.0):
    """Cook's membrane, 2 n² triangles: clamped at x = 0, a shear of 1 in all at x = 48."""
    mesh = block((n, n), lambda X: np.stack([48 * X[:, 0], 44 * X[:, 0] + (44 - 28 * X[:, 0]) * X[:, 1]], axis=1))
    if not np.isscalar(young):
        young = np.where(mesh.points[mesh.cells].mean(axis=1)[:, 0] < 24.0, *young)
    given = {"fixed": {"left": 0.0}, "traction": {"right": (0.0, 1.0 / 16.0)}}
    return pp.fem.Elasticity(mesh, young, poisson, **given, plane=plane, degree=degree)


def plate(n, *, degree=2):
    """A quarter of a plate with a hole of radius ¼ (a polygon), on rollers, pulled at x = 1; plane stress.

    The mesh is graded towards the hole.
    """
    mesh = block((n, n), _around_hole)
    facets = mesh.facets("right")
    east = np.all(mesh.points[facets][:, :, 0] == 1.0, axis=1)
    groups = {"east": facets[east], "north": facets[~east], "down": mesh.facets("bottom"), "west": mesh.facets("top")}
    mesh = Mesh(mesh.points, mesh.cells, {}, groups)
    held = {"down": ("free", 0.0), "west": (0.0, "free")}
    return pp.fem.Elasticity(mesh, 1.0, 0.3, None, held, {"east": (1.0, 0.0)}, plane="stress", degree=degree)


def cantilever(n, *, degree=2, poisson=0.3):
    """A block 2 × 1 × 1 clamped at x = 0, a shear of −1 in z at x = 2."""
    mesh = block((2 * n, n, n), lambda X: X * [2.0, 1.0, 1.0])
    return pp.fem.Elasticity(mesh, 100.0, poisson, None, {"left": 0.0}, {"right": (0.0, 0.0, -1.0)}, degree=degree)


def membrane(n, *, degree=2, near=(0.4, 0.2, 0.1)):
    """NAFEMS LE1, m and MPa: between two ellipses, rollers on the axes, 10 MPa outward at the outer one; plane stress.

    The polygons have the ellipses' areas, so what they change is felt near their sides only; the pressure is along the
    sides' own normals. Groups ``near 0.4`` and so on are cells within that distance of D = (2, 0).
    """
    angle = 0.5 * np.pi / n
    larger = float(np.sqrt(angle / np.sin(angle)))
    groups = {f"near {r}": _near(r) for r in near}
    mesh = block((n, n), lambda X: larger * _between_ellipses(X), cell_groups=groups, split=("right",))
    pull = {
        name: [float(10.0 * v) for v in mesh.outer_normals(mesh.facets(name))[0]]
        for name in mesh.facet_groups
        if name[:5] == "right" < name
    }
    held = {"bottom": ("free", 0.0), "top": (0.0, "free")}
    return pp.fem.Elasticity(mesh, 210e3, 0.3, None, held, pull, plane="stress", degree=degree)


def thick_plate(n, m, *, degree=2, near=(0.6, 0.4)):
    """A plate as NAFEMS LE10's, m and MPa: the planform of LE1, 0.6 thick, 1 MPa down on its upper face.

    The outer face is held in all components: LE10 holds z on its middle line only, which no solid of finite energy
    feels. Groups ``near 0.4`` are cells at the upper face within that distance of D = (2, 0).
    """

    def place(X):
        return np.column_stack([_between_ellipses(X[:, :2]), 0.6 * X[:, 2] - 0.3])

    groups = {f"near {r}": lambda X, r=r: _near(r)(X) & (X[:, 2] > 0.3 - 0.6 / m) for r in near}
    mesh = block((n, n, m), place, cell_groups=groups)
    held = {"right": 0.0, "bottom": ("free", 0.0, "free"), "top": (0.0, "free", "free")}
    return pp.fem.Elasticity(mesh, 210e3, 0.3, None, held, {"back": (0.0, 0.0, -1.0)}, degree=degree)


def _between_ellipses(X):
    angle = 0.5 * np.pi * X[:, 1]
    way = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    way[X[:, 1] == 0.0, 1], way[X[:, 1] == 1.0, 0] = 0.0, 0.0
    return way * ([2.0, 1.0] + X[:, :1] * [1.25, 1.75])


def _near(r):
    return lambda X: (X[:, 0] - 2.0) ** 2 + X[:, 1] ** 2 < r * r


def timoshenko(n, *, degree=2, length=4.0, height=1.0, poisson=0.3):
    """A beam under an end load as Timoshenko and Goodier have it, E = 1, P = 1; plane stress.

    The left end has the exact displacements and the right one the exact tractions. Returns the problem, and u and σ as
    functions of points.
    """
    inertia, D2 = height**3 / 12.0, height**2 / 4.0
    k, nu, L = 1.0 / (6.0 * inertia), poisson, length
    u = f"-{k!r}*y*((6*{L!r} - 3*x)*x + {2.0 + nu!r}*(y*y - {D2!r}))"
    v = f"{k!r}*({3.0 * nu!r}*y*y*({L!r} - x) + {(4.0 + 5.0 * nu) * D2!r}*x + (3*{L!r} - x)*x*x)"

    def shift(X):
        x, y = np.asarray(X).T
        across = k * (3 * nu * y * y * (L - x) + (4 + 5 * nu) * D2 * x + (3 * L - x) * x * x)
        return np.stack([-k * y * ((6 * L - 3 * x) * x + (2 + nu) * (y * y - D2)), across], axis=1)

    def stress(X):
        x, y = np.asarray(X).T
        return {"xx": -(L - x) * y / inertia, "xy": (D2 - y * y) / (2 * inertia), "yy": 0.0 * x}

    mesh = block((4 * n, n), lambda X: X * [length, height] - [0.0, 0.5 * height])
    traction = {"right": (0.0, f"({D2!r} - y*y)*{0.5 / inertia!r}")}
    problem = pp.fem.Elasticity(mesh, 1.0, nu, None, {"left": (u, v)}, traction, plane="stress", degree=degree)
    return problem, shift, stress


def lame(young, poisson, plane):
    """λ of the plane state, and μ."""
    lam = young * poisson / (1.0 - poisson**2 if plane == "stress" else (1.0 + poisson) * (1.0 - 2.0 * poisson))
    return lam, young / (2.0 * (1.0 + poisson))


def with_tractions(mesh, sides, stress, **given):
    """A problem, held by rollers on the axes, whose other facets carry σn of a stress known everywhere.

    A facet's normal is its own, so that σ is the solution on the polygon and not only within the circle.
    """
    tractions = {}
    for name in (name for name in mesh.facet_groups if name.rstrip("0123456789") in sides and name not in sides):
        a, b = mesh.points[mesh.facet_groups[name][0]]
        n = np.array([b[1] - a[1], a[0] - b[0]]) / np.hypot(*(b - a))
        outward = n if (n @ a > 0.0) == sides[name.rstrip("0123456789")] else -n
        p, q = (float(x) for x in outward)
        tractions[name] = (
            f"({p!r})*({stress['xx']}) + ({q!r})*({stress['xy']})",
            f"({p!r})*({stress['xy']}) + ({q!r})*({stress['yy']})",
        )
    held = {"bottom": ("free", 0.0), "top": (0.0, "free")}
    return pp.fem.Elasticity(mesh, fixed=held, traction=tractions, **given)


def ring(n, *, degree=2, young=2.0, poisson=0.3, plane="stress", A=0.25, B=0.5):
    """Lamé's ring 1 < r < 2, a quarter of a polygon of 4n sides: u = x (A + B/r²).

    Returns the problem, and u and σ as functions of points.
    """

    def place(X):
        angle = 0.5 * np.pi * X[:, 1]
        way = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        way[X[:, 1] == 0.0, 1], way[X[:, 1] == 1.0, 0] = 0.0, 0.0
        return way * (1.0 + X[:, :1])

    lam, mu = lame(young, poisson, plane)
    flat, turned = 2.0 * (mu + lam) * A, 2.0 * mu * B
    square = "(x*x + y*y)"
    text = {
        "xx": f"{flat!r} + ({turned!r})*(y*y - x*x)/{square}**2",
        "yy": f"{flat!r} + ({turned!r})*(x*x - y*y)/{square}**2",
        "xy": f"({-2.0 * turned!r})*x*y/{square}**2",
    }

    def shift(X):
        X = np.asarray(X)
        return X * (A + B / (X**2).sum(axis=1, keepdims=True))

    def stress(X):
        x, y = np.asarray(X).T
        r4 = (x * x + y * y) ** 2
        across = turned * (y * y - x * x) / r4
        return {"xx": flat + across, "yy": flat - across, "xy": -2.0 * turned * x * y / r4}

    mesh = block((n, n), place, split=("left", "right"))
    sides = {"left": False, "right": True}  # whether their normals point away from the origin
    given = {"young": young, "poisson": poisson, "plane": plane, "degree": degree}
    return with_tractions(mesh, sides, text, **given), shift, stress


def kirsch(n, *, degree=2, young=2.0, poisson=0.3, plane="stress"):
    """A quarter of Kirsch's plate (−1, 1)² with a hole of radius ¼, a polygon, under Kirsch's own tractions.

    By Kolosov's φ = (z + 2a²/z)/4 and ψ = −(z + a²/z − a⁴/z³)/2. Returns the problem, and u and σ of points.
    """
    a2, mu = 0.0625, young / (2.0 * (1.0 + poisson))
    kappa = (3.0 - poisson) / (1.0 + poisson) if plane == "stress" else 3.0 - 4.0 * poisson
    r2 = "(x*x + y*y)"
    two, four = f"(x*x - y*y)/{r2}", f"(x**4 - 6*x*x*y*y + y**4)/{r2}**2"
    sine2, sine4 = f"2*x*y/{r2}", f"4*x*y*(x*x - y*y)/{r2}**2"
    near, far = f"{a2!r}/{r2}", f"{1.5 * a2 * a2!r}/{r2}**2"
    text = {
        "xx": f"1 - {near}*(1.5*{two} + {four}) + {far}*{four}",
        "yy": f"-{near}*(0.5*{two} - {four}) - {far}*{four}",
        "xy": f"-{near}*(0.5*{sine2} + {sine4}) + {far}*{sine4}",
    }

    def shift(X):
        z = np.asarray(X) @ [1.0, 1.0j]
        phi, slope = 0.25 * (z + 2.0 * a2 / z), 0.25 * (1.0 - 2.0 * a2 / z**2)
        psi = -0.5 * (z + a2 / z - a2**2 / z**3)
        w = (kappa * phi - z * slope.conj() - psi.conj()) / (2.0 * mu)
        return np.stack([w.real, w.imag], axis=1)

    def stress(X):
        z = np.asarray(X) @ [1.0, 1.0j]
        total = 4.0 * (0.25 * (1.0 - 2.0 * a2 / z**2)).real
        other = 2.0 * (z.conj() * a2 / z**3 - 0.5 * (1.0 - a2 / z**2 + 3.0 * a2**2 / z**4))
        return {"xx": 0.5 * (total - other.real), "yy": 0.5 * (total + other.real), "xy": 0.5 * other.imag}

    mesh = block((n, n), _around_hole, split=("left", "right"))
    sides = {"left": False, "right": True}
    given = {"young": young, "poisson": poisson, "plane": plane, "degree": degree}
    return with_tractions(mesh, sides, text, **given), shift, stress


def slab(n, waves=1, *, degree=2, high=0.5, young=1.0, poisson=0.3):
    """A thick plate (0, 1)² × (0, high) on simple supports under sin(mπx) sin(πy) of pull on its upper face.

    Navier's supports: u_y = u_z = 0 at x = 0 and 1, u_x = u_z = 0 at y = 0 and 1. 2μu = (3 − 4ν)ψe_z − z∇ψ − ∇φ with
    harmonic ψ, φ = (a cosh kz + b sinh kz) sin(mπx) sin(πy) (Papkovich, Neuber; Vlasov's plate). Returns the problem,
    and u and σ of points.
    """
    p, q, mu = waves * np.pi, np.pi, young / (2.0 * (1.0 + poisson))
    k = float(np.hypot(p, q))

    def parts(z, numbers):
        """ψ and φ along z, with their slopes."""
        c, s, (a, b, e, f) = np.cosh(k * z), np.sinh(k * z), numbers
        return a * c + b * s, k * (a * s + b * c), e * c + f * s, k * (e * s + f * c)

    def ends(numbers):
        """σ_zz and σ_xz at the upper and the lower face."""
        found = []
        for z in (high, 0.0):
            psi, slope, phi, turn = parts(z, numbers)
            found += [(2 - 2 * poisson) * slope - k * k * (z * psi + phi), (1 - 2 * poisson) * psi - z * slope - turn]
        return found

    numbers = np.linalg.solve(np.transpose([ends(row) for row in np.eye(4)]), [1.0, 0.0, 0.0, 0.0])

    def shift(X):
        x, y, z = np.asarray(X).T
        psi, slope, phi, turn = parts(z, numbers)
        flat, up = -(z * psi + phi) / (2 * mu), ((3 - 4 * poisson) * psi - z * slope - turn) / (2 * mu)
        sines = np.sin(p * x), np.sin(q * y)
        ways = p * np.cos(p * x) * sines[1], q * sines[0] * np.cos(q * y)
        return np.stack([flat * ways[0], flat * ways[1], up * sines[0] * sines[1]], axis=1)

    def stress(X):
        x, y, z = np.asarray(X).T
        psi, slope, phi, turn = parts(z, numbers)
        both = np.sin(p * x) * np.sin(q * y)
        across = ((1 - 2 * poisson) * psi - z * slope - turn) * p * np.cos(p * x) * np.sin(q * y)
        top = (2 - 2 * poisson) * slope - k * k * (z * psi + phi)
        return {"xx": (p * p * (z * psi + phi) + 2 * poisson * slope) * both, "zz": top * both, "xz": across}

    mesh = block((n, n, max(1, round(n * high))), lambda X: X * [1.0, 1.0, high])
    held = {name: ("free", 0.0, 0.0) for name in SIDES[0]} | {name: (0.0, "free", 0.0) for name in SIDES[1]}
    pull = {"back": (0.0, 0.0, f"sin({waves}*pi*x)*sin(pi*y)")}
    return pp.fem.Elasticity(mesh, young, poisson, None, held, pull, degree=degree), shift, stress


def _around_hole(X):
    """From the hole of radius ¼ out to the unit square, graded towards the hole."""
    angle, along = 0.5 * np.pi * X[:, 1], 2.0 * X[:, 1]
    inner = 0.25 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    inner[X[:, 1] == 0.0, 1], inner[X[:, 1] == 1.0, 0] = 0.0, 0.0
    outer = np.minimum(np.stack([2.0 - along, along], axis=1), 1.0)
    return inner + X[:, :1] ** 1.4 * (outer - inner)
