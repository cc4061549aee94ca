//! A certificate that nobody but its holder vouches for.

use std::fs;
use std::path::PathBuf;

use rcgen::{CertificateParams, DnType, KeyPair};
use tempfile::TempDir;

/// `cert.pem` and `key.pem`, and `both.pem` with both, in a folder of their own.
pub struct Certificate {
    folder: TempDir,
}

impl Default for Certificate {
    fn default() -> Self {
        Self::new()
    }
}

impl Certificate {
    /// One for `localhost`.
    pub fn new() -> Self {
        Self::of(&KeyPair::generate().unwrap(), &["localhost"], |_| {})
    }

    /// One for these names, with this key, which `change` changes before it is signed.
    pub fn of(key: &KeyPair, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut parameters = CertificateParams::new(names).unwrap();
        // The folder's name is unique, and so is the issuer's: a certificate with the name of a trusted one would be one
        // with a wrong signature.
        let name = folder.path().to_str().unwrap();
        parameters.distinguished_name.push(DnType::CommonName, name);
        change(&mut parameters);
        let certificate = parameters.self_signed(key).unwrap().pem();
        let key = key.serialize_pem();
        let write = |name, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("cert.pem", &certificate);
        write("key.pem", &key);
        write("both.pem", &format!("{certificate}{key}"));
        Self { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The path as an argument.
    pub fn file(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }
}
