"""Under mpirun: the rows of all processes are those of one machine, bit for bit; sums and norms enclose."""

import sys
from fractions import Fraction

import numpy as np

from pinnpoint.cases.read import read_case
from pinnpoint.cases.study import make_problem, open_mesh
from pinnpoint.distributed.certify import _ask, _parts
from pinnpoint.distributed.rows import Rows, assemble_rows
from pinnpoint.distributed.team import Team
from pinnpoint.rounding.balls import Ball

team = Team.assemble()
case = read_case(sys.argv[1])
asked = _ask(case, team.size)
part, given = _parts(asked, team.size)[team.rank]
local = assemble_rows(part, case.problem, None, given["forces"])
rows = Rows(team, local, given["free"], np.repeat(part.own, given["count"]), given["numbers"])
whole = make_problem(case, open_mesh(case))
stored, load = whole.A, whole.b
if whole.degree == 2:  # on one machine matrix products make them, which differ in last bits
    alone = assemble_rows(_parts(_ask(case, 1), 1)[0][0], case.problem, None, asked.frame.forces)
    stored, load = alone.A, alone.b
count = given["count"]
dofs = (part.numbers[:, None] * count + np.arange(count)).ravel()
mine = dofs[rows.mine]
assert (stored[mine][:, dofs] != rows.full.A).nnz == 0
assert stored[mine].nnz == rows.full.A.nnz
assert np.array_equal(load[mine], rows.b)
assert np.array_equal(np.asarray(whole.space.free), np.sort(np.concatenate(team.comm.allgather(mine))))

rng = np.random.default_rng(0)
v = rng.normal(size=rows.n) * np.exp(rng.normal(size=rows.n) * 20)
own = v[rows.numbers[rows.here]]
truth = sum(Fraction(x) for x in v)
squares = sum(Fraction(x) ** 2 for x in v)
local_sum = Ball(np.zeros(1))
for x in own:
    local_sum = local_sum + Ball(np.array([x]))
total = team.add(local_sum)
assert abs(truth - Fraction(total.hi[0]) - Fraction(total.lo[0])) <= Fraction(total.err[0])
assert total.err[0] <= 1e-25 * np.abs(v).sum()
norm = Fraction(team.norm(Ball(own)))
assert squares <= norm**2 <= squares * (1 + Fraction(1, 10**9))
assert len(set(team.comm.allgather((total.hi[0], total.lo[0], total.err[0])))) == 1

w = rows.product(own)
expected = stored[np.asarray(whole.space.free)][:, np.asarray(whole.space.free)]
order = np.argsort(np.concatenate(team.comm.allgather(mine)), kind="stable")
serial = np.empty(rows.n)
serial[np.searchsorted(np.asarray(whole.space.free), np.concatenate(team.comm.allgather(mine)))] = v
exactly = (expected @ serial)[np.searchsorted(np.asarray(whole.space.free), mine)]
assert np.allclose(w.hi, exactly, rtol=1e-9, atol=1e-9 * np.abs(exactly).max())
print("fine", flush=True)
