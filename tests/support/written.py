"""Decks and SimJEB-shaped folders written by the tests, and what they mean, found without the package."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla


def voxels(mask, size):
    """Points and tetrahedra (six per voxel) of the voxels where the mask holds."""
    n = np.array(mask.shape) + 1
    at = np.stack(np.nonzero(mask), axis=1)
    cells = []
    for order in permutations(range(3)):
        corner = [at.copy()]
        for axis in order:
            corner.append(corner[-1] + np.eye(3, dtype=int)[axis])
        cells.append(np.stack([np.ravel_multi_index(c.T, n) for c in corner], axis=1))
    cells = np.concatenate(cells)
    used, inverse = np.unique(cells, return_inverse=True)
    return np.stack(np.unravel_index(used, n), axis=1) * size, inverse.reshape(cells.shape)


def stiffness(X, T, E, nu):
    """P1 elasticity, element by element, displacements node by node; written for the tests alone."""
    D = np.zeros((6, 6))
    D[:3, :3] = nu
    D[np.arange(3), np.arange(3)] = 1 - nu
    D[np.arange(3, 6), np.arange(3, 6)] = (1 - 2 * nu) / 2
    D *= E / ((1 + nu) * (1 - 2 * nu))
    P = np.concatenate([np.ones((len(T), 4, 1)), X[T]], axis=2)
    G = np.linalg.inv(P)[:, 1:, :]
    V = np.abs(np.linalg.det(P)) / 6
    B = np.zeros((len(T), 6, 4, 3))
    for k in range(3):
        B[:, k, :, k] = G[:, k]
    for row, (a, b) in enumerate([(1, 2), (0, 2), (0, 1)], 3):
        B[:, row, :, a], B[:, row, :, b] = G[:, b], G[:, a]
    B = B.reshape(len(T), 6, 12)
    K = np.einsum("cka,kl,clb,c->cab", B, D, B, V, optimize=True)
    dofs = (3 * T[:, :, None] + np.arange(3)).reshape(len(T), 12)
    i, j = np.repeat(dofs, 12, axis=1).ravel(), np.tile(dofs, (1, 12)).ravel()
    return sp.csc_array((K.ravel(), (i, j)), shape=(3 * len(X), 3 * len(X)))


def least_forces(X, at, force, moment):
    """The smallest nodal forces with a resultant: the least-norm solution of the six equations of equilibrium."""
    C = np.zeros((6, len(X), 3))
    for k in range(3):
        C[k, :, k] = 1
    r = X - at
    C[3, :, 1], C[3, :, 2] = -r[:, 2], r[:, 1]
    C[4, :, 0], C[4, :, 2] = r[:, 2], -r[:, 0]
    C[5, :, 0], C[5, :, 1] = -r[:, 1], r[:, 0]
    C = C.reshape(6, -1)
    return np.linalg.lstsq(C, np.concatenate([force, moment]), rcond=None)[0].reshape(-1, 3)


def solve(K, f, fixed):
    """Displacements with some entries 0."""
    free = np.setdiff1d(np.arange(K.shape[0]), fixed)
    u = np.zeros_like(f)
    u[free] = spla.splu(K[free][:, free]).solve(f[free])
    return u


def short(v):
    """A number in 8 columns, as close as they allow, the way Nastran writes it."""
    found = []
    for digits in range(8):
        mantissa, exponent = f"{v:.{digits}e}".split("e")
        power = f"{mantissa if '.' in mantissa else mantissa + '.'}{int(exponent):+d}"
        plain = f"{v:.{digits}f}" + ("" if digits else ".")
        found += [
            t
            for t in (plain, plain.replace("0.", ".", 1) if abs(v) < 1 else plain, power)
            if len(t) <= 8 and any(c.isdigit() for c in t)
        ]
    return min(found, key=lambda t: (abs(float(value_of(t)) - v), len(t)))


def value_of(text):
    """A field as Python writes it: an exponent gets its letter."""
    for sign in "+-":
        if sign in text[1:]:
            return text[0] + text[1:].replace(sign, "e" + sign)
    return text


def small(name, *fields, side="<", mark=""):
    """A card in small field, with continuations that begin with `+`; `mark` stands in the tenth field before them."""
    words = [short(f) if isinstance(f, float) else str(f) for f in fields]
    lines = [words[k : k + 8] for k in range(0, len(words), 8)]
    heads = [name] + ["+"] * (len(lines) - 1)
    rows = [f"{h:<8}" + "".join(f"{w:{side}8}" for w in row) for h, row in zip(heads, lines, strict=True)]
    return "\n".join([row + mark for row in rows[:-1]] + rows[-1:])


def large(name, *fields):
    """A card in large field."""
    words = [f"{f:.9E}" if isinstance(f, float) else str(f) for f in fields]
    words += [""] * (-len(words) % 8)
    lines = [words[k : k + 4] for k in range(0, len(words), 4)]
    heads = [name + "*"] + ["*"] * (len(lines) - 1)
    return "\n".join(f"{h:<8}" + "".join(f"{w:>16}" for w in row) for h, row in zip(heads, lines, strict=True))


def free(name, *fields):
    """A card in free field."""
    words = [repr(f) if isinstance(f, float) else str(f) for f in fields]
    lines = [words[k : k + 8] for k in range(0, len(words), 8)]
    return "\n".join(",".join([name if k == 0 else "", *row]) for k, row in enumerate(lines))


CASES = ("vertical", "horizontal", "diagonal", "torsion")
FORCES = {
    "vertical": ((0.0, 0.0, 35585.77), (0.0, 0.0, 0.0)),
    "horizontal": ((-37809.9, 0.0, 0.0), (0.0, 0.0, 0.0)),
    "diagonal": ((-28276.2, 0.0, 31403.9), (0.0, 0.0, 0.0)),
    "torsion": ((0.0, 0.0, 0.0), (0.0, 0.0, 564924.2)),
}


class Bracket:
    """A plate with four bolt holes and a lug with a pin hole, as SimJEB would ship it."""

    def __init__(self, scale=1, size=8.0, rotation=None, gap=0):
        mask = np.zeros((9 * scale, 6 * scale, 4 * scale), dtype=bool)
        s = scale
        mask[:, :, : 2 * s] = True
        mask[3 * s : 6 * s, 2 * s : 4 * s] = True
        bolts = [(1, 1), (1, 4), (7, 1), (7, 4)]
        for i, j in bolts:
            mask[i * s : (i + 1) * s, j * s : (j + 1) * s] = False
        mask[4 * s : 5 * s, :, 2 * s : 3 * s] = False
        X, self.T = voxels(mask, size / s)
        self.X = np.array([[float(short_value(v)) for v in row] for row in X.tolist()])
        grid = X * s / size
        near = [(np.abs(grid[:, :2] - (np.array(c) * s + s / 2)).max(axis=1) <= s / 2) for c in bolts]
        self.bolts = [np.flatnonzero(m) for m in near]
        pin = np.abs(grid[:, [0, 2]] - [4.5 * s, 2.5 * s]).max(axis=1) <= s / 2
        self.pin = np.flatnonzero(pin)
        self.ids = np.arange(1, len(X) + 1)
        if gap:
            self.ids[len(X) // 2 :] += gap
        self.centres = [self.X[b].mean(axis=0) for b in self.bolts]
        self.reference = self.X[self.pin].mean(axis=0) + np.array([0.0, 0.0, 3.0])
        self.reference = np.array([float(short_value(v)) for v in self.reference])  # as the deck holds it
        if rotation is not None:
            move = lambda P: np.round(P @ rotation.T, 3)  # noqa: E731
            self.X, self.reference = move(self.X), move(self.reference)
            self.centres = [move(c) for c in self.centres]

    def deck(self):
        """As a preprocessor writes it: fields to the right, a `+` at both ends of a continuation."""
        last = int(self.ids[-1])

        def card(*fields):
            return small(*fields, side=">", mark="+")

        lines = ["$ OptiStruct", "DISPLACEMENT(H3D) = ALL"]
        for k, case in enumerate(CASES):
            lines += [f"SUBCASE       {k + 1}", f"  LABEL {case}", "  SPC =        1", f"  LOAD =        {k + 2}"]
        lines += ["BEGIN BULK", "PARAM,POST,-1"]
        rows = [(i, "", *x) for i, x in zip(self.ids.tolist(), self.X.tolist(), strict=True)]
        rows += [(last + 1 + k, "", *map(float, c)) for k, c in enumerate([*self.centres, self.reference])]
        lines += [card("GRID", *row) for row in rows]
        lines += [card("CTETRA", e + 1, 1, *row) for e, row in enumerate(self.ids[self.T].tolist())]
        lines += [card("PSOLID", 1, 1), "MAT1    1       113800.         .342    4.43-9"]
        for k, bolt in enumerate(self.bolts):
            lines.append(card("RBE2", 900001 + k, last + 1 + k, 123, *self.ids[bolt].tolist()))
            lines.append(card("SPC", 1, last + 1 + k, 123456, 0.0))
        lines.append(card("RBE3", 900009, "", last + 5, 123456, 1.0, 123, *self.ids[self.pin].tolist()))
        for k, (force, moment) in enumerate(FORCES.values()):
            name, vector = ("MOMENT", moment) if any(moment) else ("FORCE", force)
            lines.append(card(name, k + 2, last + 5, 0, 1.0, *vector))
        return "\n".join([*lines, "ENDDATA", ""])

    def released(self):
        """Displacements of the four cases, by an assembly of its own."""
        K = stiffness(self.X, self.T, 113800.0, 0.342)
        fixed = (3 * np.concatenate(self.bolts)[:, None] + np.arange(3)).ravel()
        found = {}
        for case, (force, moment) in FORCES.items():
            force, moment = (np.array([float(short_value(v)) for v in w]) for w in (force, moment))
            f = np.zeros_like(self.X)
            f[self.pin] = least_forces(self.X[self.pin], self.reference, force, moment)
            found[case] = solve(K, f.ravel(), fixed).reshape(-1, 3)
        return found

    def write(self, folder, name=7, field="{}field.csv", fields=None, points=None):
        (folder / f"{name}.fem").write_text(self.deck())
        fields = self.released() if fields is None else fields
        surf = np.zeros(len(self.X), dtype=int)
        surf[np.concatenate(self.bolts)], surf[self.pin] = 2, 3
        parts = "xdisp ydisp zdisp magdisp stress".split()
        head = ",".join(["id", "surf", "x", "y", "z", *(f"{c[:3]}_{p}" for c in CASES for p in parts)])
        P = self.X if points is None else points
        columns = [self.ids[:, None], surf[:, None], P]
        for case in CASES:
            u = fields[case]
            columns += [u, np.linalg.norm(u, axis=1)[:, None], np.zeros((len(u), 1))]
        np.savetxt(
            folder / field.format(name),
            np.concatenate(columns, axis=1),
            fmt=["%d", "%d", *["%.7g"] * 23],
            delimiter=",",
            header=head,
            comments="",
        )


def short_value(v):
    """What `short` writes, as Python reads it."""
    return value_of(short(float(v)))
