//! Packs the shipped folders of the repository, or takes the archive that the published crate has.

mod archive;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest, Sha256};

/// The archive beside `Cargo.toml`, in the published crate.
const PACKED: &str = "shipped.tar";

fn main() -> Result<(), Box<dyn Error>> {
    // The folder, because Cargo would take an archive that does not exist for one that changed.
    println!("cargo::rerun-if-changed=.");
    let bytes = match fs::read(PACKED) {
        Ok(bytes) => bytes,
        Err(_) => pack(Path::new("../.."))?,
    };
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("Cargo sets no OUT_DIR")?);
    fs::write(out.join(PACKED), &bytes)?;
    println!("cargo::rustc-env=SHIPPED_HASH={}", hash(&bytes));
    Ok(())
}

/// Packs the folders below `root`, and packs them again when they change.
fn pack(root: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    for folder in archive::FOLDERS {
        // Cargo looks at everything in a folder, so new and removed files count.
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
    }
    println!(
        "cargo::rerun-if-changed={}",
        root.join(".gitignore").display()
    );
    let files = archive::files(root)?;
    Ok(archive::pack(root, &files)?)
}

/// The first 12 hexadecimal digits of the hash.
fn hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest[..6]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
