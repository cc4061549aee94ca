"""Certificates that are made for one run, right and wrong ones, with the `openssl` program."""

import atexit
import shutil
import ssl
import subprocess
import tempfile
from functools import cache
from pathlib import Path

LOCAL = "IP:127.0.0.1"


@cache
def folder() -> Path:
    made = tempfile.mkdtemp(prefix="prony-hostile-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def openssl(*arguments: str) -> None:
    subprocess.run(
        ["openssl", *arguments], cwd=folder(), check=True, capture_output=True
    )


def key(name: str) -> list[str]:
    return [
        "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-keyout", f"{name}.key", "-subj", f"/CN={name}",
    ]  # fmt: skip


@cache
def authority() -> Path:
    """The certificate of an authority that signs the others: what clients are told to trust."""
    openssl("req", "-x509", *key("authority"), "-days", "2", "-out", "authority.pem")
    return folder() / "authority.pem"


@cache
def signed(name: str, hosts: str = LOCAL, begin: str = "", end: str = "") -> Path:
    """A chain file with its key, for these hosts; the times are like `20200101000000Z`."""
    authority()
    chain = folder() / f"{name}.pem"
    openssl("req", "-new", *key(name), "-out", f"{name}.csr")
    (folder() / f"{name}.cnf").write_text(
        "[ca]\ndefault_ca = it\n[it]\nnew_certs_dir = .\ndatabase = index\nrand_serial = yes\ndefault_md = sha256\n"
        f"unique_subject = no\npolicy = any\n[any]\ncommonName = supplied\n[names]\nsubjectAltName = {hosts}\n"  # typos:ignore-line
    )
    (folder() / "index").touch()
    openssl(
        "ca", "-batch", "-notext", "-config", f"{name}.cnf", "-extensions", "names", "-in", f"{name}.csr",
        "-cert", "authority.pem", "-keyfile", "authority.key", "-out", f"{name}.crt",
        *(["-startdate", begin] if begin else []), *(["-enddate", end] if end else ["-days", "2"]),
    )  # fmt: skip
    return joined(chain, name)


@cache
def self_signed() -> Path:
    name = "self"
    extensions = [
        "-addext",
        f"subjectAltName={LOCAL}",  # typos:ignore-line
        "-addext",
        "basicConstraints=critical,CA:FALSE",
    ]
    openssl(
        "req", "-x509", *key(name), "-days", "2", *extensions, "-out", f"{name}.crt"
    )
    return joined(folder() / f"{name}.pem", name)


@cache
def of_authority() -> Path:
    """The authority's own certificate, as if it were a server's."""
    return joined(folder() / "own.pem", "authority", authority())


@cache
def long_chain(count: int) -> Path:
    """A right certificate, and after it many copies of that of the authority."""
    right = signed("right").read_text()
    chain = folder() / f"chain-{count}.pem"
    chain.write_text(right + authority().read_text() * count)
    return chain


def joined(chain: Path, name: str, certificate: Path | None = None) -> Path:
    certificate = certificate or folder() / f"{name}.crt"
    chain.write_text(certificate.read_text() + (folder() / f"{name}.key").read_text())
    return chain


def context(chain: Path) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(chain)
    return made
