"""What each command takes; nothing is imported here that a command needs to run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

ABOUT = {
    "demo": "certify a trained PINN that is wrong between its samples, or a neural operator",
    "init": "write a commented case file for a mesh",
    "check": "validate a case file; print groups, conditions, loads and memory",
    "certify": "certify a case file and write certificate, table and field",
    "verify": "re-check a certificate bundle from its witnesses alone",
    "plot": "draw a certificate's intervals as PNG, SVG or PDF (extra 'plot')",
    "sign": "sign a bundle with an Ed25519 key (extra 'sign')",
    "serve": "certify predictions of one case over HTTP (extra 'serve')",
    "reproduce": "the paper's experiments, beside the paper's own numbers",
    "doctor": "what is installed, which extras work",
    "completion": "print what a shell needs to complete these commands",
}
"""The commands, in the order of the help; each is run by the module of its name in `pinnpoint.cli`."""


def add_commands(parser: argparse.ArgumentParser) -> None:
    """All commands with their options."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    parsers = {name: commands.add_parser(name, help=told) for name, told in ABOUT.items()}
    demo(parsers["demo"])
    init(parsers["init"])
    for name in ("check", "certify", "serve"):
        case(parsers[name])
    certify(parsers["certify"])
    verify(parsers["verify"])
    plot(parsers["plot"])
    sign(parsers["sign"])
    serve(parsers["serve"])
    reproduce(parsers["reproduce"])
    told = 'bash, zsh or fish: eval "$(pinnpoint completion bash)"; fish: pinnpoint completion fish | source'
    parsers["completion"].add_argument("shell", choices=("bash", "zsh", "fish"), help=told)


def verify(parser: Any) -> None:
    """Which bundle, and what it is held against."""
    told = "a bundle's folder, or the .npz witness of an instance of a population"
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help=told)
    told = "folder with the case, mesh and prediction that the certificate names: they are read and compared"
    parser.add_argument("--inputs", type=Path, metavar="DIR", help=told)
    parser.add_argument("--key", type=Path, metavar="PUBLIC.pem", help="whose signature BUNDLE.sig must be")


def plot(parser: Any) -> None:
    """Which certificate, and which picture."""
    told = "a folder that certify wrote, or a certificate.json"
    parser.add_argument("result", type=Path, metavar="RESULT", help=told)
    told = "the picture, .png, .svg or .pdf; intervals.png beside the certificate by default"
    parser.add_argument("--out", type=Path, metavar="FILE", help=told)


def sign(parser: Any) -> None:
    """Which bundle, and with which key."""
    parser.add_argument(
        "bundle", type=Path, metavar="BUNDLE", help="a bundle's folder; BUNDLE.sig is written beside it"
    )
    told = "Ed25519 private key: openssl genpkey -algorithm ed25519 -out private.pem"
    parser.add_argument("--key", type=Path, metavar="PRIVATE.pem", required=True, help=told)


def demo(parser: Any) -> None:
    """Which model, and where the outputs go."""
    parser.add_argument("which", nargs="?", choices=("pinn", "operator"), default="pinn", help="what is certified")
    parser.add_argument("--out", type=Path, default=Path("pinnpoint-demo"), help="folder for the outputs")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def init(parser: Any) -> None:
    """The mesh to look at, and what is to be written."""
    parser.add_argument("mesh", type=Path, metavar="MESH", help="a file of any format that case files may name")
    parser.add_argument("--out", type=Path, metavar="CASE.toml", help="default: the mesh's name with .toml, beside it")
    parser.add_argument("--solid", action="store_true", help="an elastic body instead of diffusion")


def case(parser: Any) -> None:
    """A case file, and what may be said beside it."""
    parser.add_argument("case", type=Path, metavar="CASE.toml")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="replace a value of the case")
    parser.add_argument(
        "--trust-model", action="store_true", help="open models whose files, or modules beside the case, run code"
    )


def certify(parser: Any) -> None:
    """Outputs, what is printed, and over what it is solved."""
    parser.add_argument("--out", type=Path, help="folder for the outputs (default: the case's name beside it)")
    parser.add_argument("--json", action="store_true", help="print the certificate as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress, no table")
    parser.add_argument(
        "--petsc", metavar="OPTIONS", help="solve over the processes of mpirun, with these options of PETSc"
    )


def serve(parser: Any) -> None:
    """Address, log and limits."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=8765, help="0 takes a free one; the address is printed")
    parser.add_argument("--log", type=Path, help="JSONL file that every decision is added to")
    parser.add_argument("--max-body", type=int, default=16_000_000, metavar="BYTES")
    parser.add_argument("--max-batch", type=int, default=256, metavar="ITEMS")
    parser.add_argument("--workers", type=int, default=2, help="requests computed at once")
    parser.add_argument("--waiting", type=int, default=16, help="requests that may wait; more are answered 429")


def reproduce(parser: Any) -> None:
    """Which studies, in which form, and what is drawn."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="studies to run; none and no --all lists them")
    parser.add_argument("--all", action="store_true", help="every study")
    parser.add_argument("--quick", action="store_true", help="small forms: a minute or two for all of them")
    parser.add_argument("--out", type=Path, default=Path("pinnpoint-studies"), help="folder for results and the page")
    parser.add_argument("--simjeb", type=Path, metavar="DIR", help="folder of a SimJEB bracket for the bracket studies")
    parser.add_argument(
        "--bracket", default="148", metavar="ID", help="number of that bracket; the paper's unless told"
    )
    parser.add_argument("--fresh", action="store_true", help="compute again what is there already")
    parser.add_argument("--redraw", action="store_true", help="figures and page from stored numbers; compute nothing")
    parser.add_argument("--no-figures", action="store_true", help="numbers and page alone, without matplotlib")
    parser.add_argument("--quiet", action="store_true", help="no progress")
