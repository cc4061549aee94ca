//! A toolchain that Prony installs for itself, from a local package file, without the network.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use crate::support::{GO_ON, supervisor};
use prony_server::{
    Availability, Installer, Layout, Need, PackageSource, ProvideError, Toolbox, Toolchain,
};

/// A toolchain that no machine has, installed from the package at `package`.
fn toolchain(package: &Path) -> Arc<Toolchain> {
    Arc::new(Toolchain {
        name: "made-up".to_owned(),
        program: "prony-made-up-tool".to_owned(),
        install: "it cannot be installed".to_owned(),
        source: Some(PackageSource {
            installer: Installer::Python3,
            package: package.to_str().unwrap().to_owned(),
            programs: "lib/python3*/site-packages/made_up/tool".to_owned(),
        }),
        ..Toolchain::default()
    })
}

/// Writes a wheel with a program that prints its version.
fn write_wheel(folder: &Path) -> std::path::PathBuf {
    let code = r##"
import zipfile
info = "made_up-1.2.3.dist-info/"
with zipfile.ZipFile("made_up-1.2.3-py3-none-any.whl", "w") as wheel:
    tool = zipfile.ZipInfo("made_up/tool")
    tool.external_attr = 0o100755 << 16
    wheel.writestr(tool, "#!/bin/sh\necho made-up 1.2.3\n")
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: made-up\nVersion: 1.2.3\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "RECORD", "")
"##;
    let python = Command::new("python3")
        .args(["-c", code])
        .current_dir(folder)
        .status();
    assert!(python.unwrap().success());
    folder.join("made_up-1.2.3-py3-none-any.whl")
}

#[test]
fn two_threads_install_a_toolchain_once() {
    let folder = tempfile::tempdir().unwrap();
    let need = Need::any(toolchain(&write_wheel(folder.path())));
    let toolbox = Toolbox::new(&Layout::at(folder.path()), &supervisor());
    assert!(matches!(toolbox.find(&need), Availability::Obtainable(_)));
    let provide = || toolbox.provide(&need, &GO_ON).unwrap();
    let [one, other] = std::thread::scope(|scope| {
        [scope.spawn(provide), scope.spawn(provide)].map(|thread| thread.join().unwrap())
    });
    assert_eq!(one, other);
    assert_eq!(one.version.to_string(), "1.2.3");
    assert!(one.path.starts_with(folder.path()));
    let log = folder.path().join(".prony/tools/made-up.log");
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(log.matches("Successfully installed").count(), 1, "{log}");
}

#[test]
fn a_failed_installation_is_reported_with_its_last_lines() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken-1.0-py3-none-any.whl");
    std::fs::write(&broken, "no zip").unwrap();
    let need = Need::any(toolchain(&broken));
    let layout = Layout::at(folder.path());
    match Toolbox::new(&layout, &supervisor()).provide(&need, &GO_ON) {
        Err(ProvideError::Missing(missing)) => {
            assert!(missing.what.contains("installing it failed"), "{missing}");
            assert!(missing.what.contains("broken-1.0"), "{missing}");
            assert_eq!(missing.install, "it cannot be installed");
        }
        other => panic!("{other:?}"),
    }
    // A partial installation is not treated as a toolchain.
    let again = Toolbox::new(&layout, &supervisor()).find(&need);
    assert!(matches!(again, Availability::Obtainable(_)), "{again:?}");
}
