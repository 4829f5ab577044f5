"""`pinnpoint serve CASE.toml`: certify predictions of one case over HTTP."""

from __future__ import annotations

import argparse
import sys

import numpy as np

from pinnpoint.cases import build
from pinnpoint.cli.progress import Stages
from pinnpoint.errors import InputError
from pinnpoint.io.cases import read_case

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def run(arguments: argparse.Namespace) -> int:
    """Prepare once, then serve until interrupted or terminated."""
    from pinnpoint.monitor import Monitor
    from pinnpoint.service import Limits, engine_of_case, make_app, run_app

    if not 0 <= arguments.port < 65536:
        raise InputError(f"--port: must lie between 0 and 65535; got {arguments.port}")
    limits = Limits(arguments.max_body, arguments.max_batch, arguments.workers, arguments.waiting)
    case = read_case(arguments.case, arguments.set)
    given = [case.certificate.tolerance, *(q.tolerance for q in case.queries)]
    if arguments.log is not None and all(t is None for t in given):
        raise InputError("--log: records decisions, which need a tolerance; give one to the queries of the case")
    with Stages(5, quiet=False) as stage:
        study = build(case, stage, trust=arguments.trust_model)
        stage("preparing the certifier")
        engine = engine_of_case(study)
    bounded = np.isfinite(study.limits)
    monitor = None
    if bounded.any():
        tolerance = np.where(bounded, study.limits, 1e300)
        monitor = Monitor(engine, tolerance, log=arguments.log)
    app = make_app(engine, limits, monitor)
    if arguments.host not in LOOPBACK:
        print("listening beyond this machine: anyone who reaches the port can ask", file=sys.stderr)
    try:
        run_app(
            app,
            arguments.host,
            arguments.port,
            lambda port: print(f"serving on http://{arguments.host}:{port} ({len(engine.names)} queries)", flush=True),
        )
    finally:
        if monitor is not None:
            monitor.close()
    return 0
