//! Digests in text.

use sha2::{Digest, Sha256};

/// The digest that `hash` has come to, hexadecimal.
pub fn hexadecimal(hash: Sha256) -> String {
    let digest = hash.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
