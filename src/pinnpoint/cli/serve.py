"""`pinnpoint serve CASE.toml`: certify predictions of one case over HTTP."""

from __future__ import annotations

import argparse
import sys

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError, in_words
from pinnpoint.cases.read import read_case
from pinnpoint.cases.study import Study, build
from pinnpoint.cli.progress import Stages
from pinnpoint.cli.watch import Watch

FLAGS = {"body": "--max-body", "batch": "--max-batch", "host": "--host", "port": "--port", "log": "--log"}
FLAGS |= {"workers": "--workers", "waiting": "--waiting"}
"""What the command line calls arguments."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def run(arguments: argparse.Namespace) -> int:
    """Prepare once, then serve until interrupted or terminated."""
    from pinnpoint.monitoring.monitor import Monitor
    from pinnpoint.service import Limits, engine_of_case, make_app, run_app

    if not 0 <= arguments.port < 65536:
        raise InputError(f"--port: must lie between 0 and 65535; got {arguments.port}")
    with in_words(FLAGS):
        sizes = Limits(arguments.max_body, arguments.max_batch, arguments.workers, arguments.waiting)
    case = read_case(arguments.case, arguments.set)
    limits: list[object] = [case.certificate.accept, case.certificate.tolerance]
    limits += [limit for query in case.queries for limit in (query.accept, query.tolerance, query.limit)]
    if arguments.log is not None and all(limit is None for limit in limits):
        raise InputError(
            "--log: records decisions, which need accept, how wrong a prediction may be, or limit, where the true "
            "value must lie; add it to the case"
        )
    with Stages(5, quiet=False) as stage:
        study = build(case, Watch(stage), trust=arguments.trust_model)
        stage("preparing the certifier")
        engine = engine_of_case(study)
    accept = accepted_by(study)
    with in_words(FLAGS):
        asked = accept is not None or limited(study)
        monitor = Monitor(engine, accept, limit=study.limit, log=arguments.log) if asked else None
    app = make_app(engine, sizes, monitor)
    if arguments.host not in LOOPBACK:
        print("listening beyond this machine: anyone who reaches the port can ask", file=sys.stderr)
    try:
        with in_words(FLAGS):
            run_app(
                app,
                arguments.host,
                arguments.port,
                lambda port: print(
                    f"serving on http://{arguments.host}:{port} ({len(engine.names)} queries)", flush=True
                ),
            )
    finally:
        if monitor is not None:
            monitor.close()
    return 0


def accepted_by(study: Study) -> Vector | None:
    """What the case accepts, by the new word or, with a warning, by the old one."""
    if np.isfinite(study.accept).any():
        return study.accept
    if not limited(study) and np.isfinite(study.limits).any():
        print(
            "tolerance is taken for accept here, which it was called before; write accept in the case", file=sys.stderr
        )
        return study.limits
    return None


def limited(study: Study) -> bool:
    """Whether the case asks where true values lie, or how good predictions of derived quantities are."""
    own = [one.limit or one.accept for one in study.queries.derived]
    return any(one is not None for one in (study.limit, *own))
