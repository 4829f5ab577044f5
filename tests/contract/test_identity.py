"""One id, the SHA-256 of a certificate's content, in everything that a certificate leaves behind."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cli.main import main
from pinnpoint.service.body import Item, answered
from tests.support.forged import Forger

CASE = """title = "who am I, Grüße"
[mesh]
generate = "square"
cells = 4
[problem]
kind = "{kind}"
source = "1+x"
{more}
[problem.dirichlet]
boundary = 0.0
[prediction]
expression = "x*(1-x)"
[[query]]
name = "a"
at = [0.4, 0.55]
[[query]]
name = "b"
at = [0.5, 0.5]
[certificate]
{target}
"""
MOVING = 'initial = "0"\n[time]\nend = 0.1\nsteps = 3'


def certified(folder: Path, kind="reaction-diffusion", more="", target="") -> Path:
    (folder / "case.toml").write_text(CASE.format(kind=kind, more=more, target=target))
    assert main(["certify", str(folder / "case.toml"), "--out", str(folder / "o"), "--quiet"]) == 0
    return folder / "o"


def hashed(data: dict) -> str:
    """By the definition on the page."""
    rest = {key: value for key, value in data.items() if key != "id"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()


def stored(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_output_carries_the_id_of_the_certificate(tmp_path, capsys):
    import meshio

    out = certified(tmp_path)
    data = stored(out / "certificate.json")
    assert data["id"] == hashed(data)
    assert stored(out / "bundle/certificate.json") == data
    assert stored(out / "bundle/manifest.json")["certificate"] == data["id"]
    with (out / "certificate.csv").open(encoding="utf-8") as file:
        assert [row["certificate"] for row in csv.DictReader(file)] == [data["id"]] * 2
    assert list(meshio.read(out / "field.vtu").field_data) == [f"certificate {data['id']}"]
    assert data["id"] in (out / "report.html").read_text(encoding="utf-8")
    assert main(["verify", str(out / "bundle")]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"certificate: {data['id']}"


def test_fields_over_time_and_a_shorter_certificate_name_the_whole_one(tmp_path, capsys):
    """The bundle of steps in time is about their system: a certificate of its own, which says whose it is."""
    out = certified(tmp_path, "parabolic", MOVING, 'target = "discrete"')
    own, part = stored(out / "certificate.json"), stored(out / "bundle/certificate.json")
    assert own["id"] == hashed(own)
    assert part["id"] == hashed(part) != own["id"]
    assert part["of"] == own["id"]
    for path in [out / "field.vtu", *(out / "field").iterdir()]:
        assert f"certificate {own['id']}".encode() in path.read_bytes()[:1000]
    assert main(["verify", str(out / "bundle")]) == 0
    said = capsys.readouterr().out
    assert f"certificate: {part['id']}\n" in said
    assert f'declared: certificate, of: "{own["id"]}"' in said


def test_a_box_has_one_certificate(tmp_path):
    text = """title = "line"
[box]
sides = [[0.0, 1.0]]
source = "0"
initial = "sin(pi*x)"
[time]
end = 0.2
[prediction]
expression = "sin(pi*x)*exp(-9.8*t)"
[[query]]
name = "a"
at = [0.4]
time = 0.1
"""
    (tmp_path / "case.toml").write_text(text)
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "o"), "--quiet"]) == 0
    data = stored(tmp_path / "o/certificate.json")
    assert data["id"] == hashed(data) == stored(tmp_path / "o/bundle/manifest.json")["certificate"]
    assert stored(tmp_path / "o/bundle/certificate.json") == data
    assert main(["verify", str(tmp_path / "o/bundle")]) == 0


def test_an_id_of_something_else_is_refused(tmp_path, capsys):
    out = certified(tmp_path)

    def other(data):
        data["id"] = "0" * 64

    forged = [lambda f: f.json("certificate", other), lambda f: f.json("certificate", lambda d: d.pop("id"))]
    for k, change in enumerate([*forged, lambda f: f.json("manifest", lambda d: d.update(certificate="0" * 64))]):
        forger = Forger(out / "bundle", tmp_path / f"f{k}")
        change(forger)
        assert main(["verify", str(forger.seal(identify=False))]) == 1
        assert "is of the certificate" in (line := capsys.readouterr().out) or "its id is" in line


def test_signatures_name_the_certificate(tmp_path, capsys):
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    key = ed25519.Ed25519PrivateKey.generate()
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (tmp_path / "private.pem").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    public = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "public.pem").write_bytes(public)
    out = certified(tmp_path)
    own = stored(out / "certificate.json")["id"]
    assert main(["sign", str(out / "bundle"), "--key", str(tmp_path / "private.pem")]) == 0
    assert f"certificate {own}" in capsys.readouterr().out
    assert main(["verify", str(out / "bundle"), "--key", str(tmp_path / "public.pem")]) == 0
    line = capsys.readouterr().out.splitlines()[0]
    assert line.startswith("verified: signed by the key")
    assert line.endswith(f": certificate {own}")


def test_logs_answers_and_python_have_it_too(tmp_path):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), source="1", dirichlet={"boundary": 0.0})
    certifier = pp.Exact().prepare(problem.system, problem.points([[0.5, 0.5]]))
    U = np.zeros(problem.system.space.N)
    found = certifier.certify(U)
    assert found.id == hashed(found.to_dict()) == certifier.certify(U).id
    V = U.copy()
    V[problem.system.space.free] = 1e-3
    assert found.id != certifier.certify(V).id
    assert found.to_dict(title="a")["id"] != found.id
    with pp.Monitor(certifier, 1.0, log=tmp_path / "log.jsonl") as monitor:
        decision = monitor.check(U)
        line = json.loads((tmp_path / "log.jsonl").read_text())
        assert line["certificate"] == decision.certificate.id
        answer = answered(Item(None, U, None, None), found, decision)
        assert answer["certificate"] == decision.certificate.id
