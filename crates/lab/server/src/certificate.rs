//! The certificate that servers present over TLS.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rcgen::{CertificateParams, CertifiedKey, KeyPair, PKCS_ECDSA_P256_SHA256};

use crate::Layout;

/// What servers listen on: Prony's loads go to the loopback.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const VALIDITY: Duration = Duration::from_secs(365 * DAY.as_secs());
/// No run takes longer than this, so none sees its certificate expire.
const MARGIN: Duration = Duration::from_secs(30 * DAY.as_secs());

const CERTIFICATE_FILE: &str = "certificate.pem";
const KEY_FILE: &str = "key.pem";

/// A self-signed certificate and its key, as PEM files. Each is in a folder under `.prony/tls`, named by the day on which
/// it expires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    pub certificate: PathBuf,
    /// The file with the key (PKCS #8).
    pub key: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("cannot write a certificate to {folder}: {source}")]
    Write { folder: PathBuf, source: io::Error },
    #[error("cannot create a certificate: {0}")]
    Create(#[from] rcgen::Error),
    #[error(
        "{0} has no readable certificate and key; delete that folder, and Prony creates new ones"
    )]
    Broken(PathBuf),
}

impl Certificate {
    /// The certificate of a project, a new one if there is none or it expires soon.
    pub fn of(layout: &Layout) -> Result<Certificate, CertificateError> {
        let folder = layout.certificates();
        let now = SystemTime::now();
        match newest(&folder, now + MARGIN) {
            Some(certificate) => Ok(certificate),
            None => create(&folder, now),
        }
    }

    fn in_folder(folder: &Path) -> Certificate {
        Certificate {
            certificate: folder.join(CERTIFICATE_FILE),
            key: folder.join(KEY_FILE),
        }
    }

    fn is_readable(&self) -> bool {
        let certificate = fs::read_to_string(&self.certificate);
        let key = fs::read_to_string(&self.key);
        certificate.is_ok_and(|text| text.starts_with("-----BEGIN CERTIFICATE-----"))
            && key.is_ok_and(|text| KeyPair::from_pem(&text).is_ok())
    }
}

/// The readable certificate in `folder` that expires last, if it is valid until `least`.
fn newest(folder: &Path, least: SystemTime) -> Option<Certificate> {
    let entries = fs::read_dir(folder).ok()?;
    let dated = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let expires = expiry(entry.file_name().to_str()?)?;
        Some((expires, Certificate::in_folder(&entry.path())))
    });
    dated
        .filter(|(expires, certificate)| *expires >= least && certificate.is_readable())
        .max_by_key(|(expires, _)| *expires)
        .map(|(_, certificate)| certificate)
}

/// The beginning of the day (UTC) that a folder is named by.
fn expiry(name: &str) -> Option<SystemTime> {
    humantime::parse_rfc3339(&format!("{name}T00:00:00Z")).ok()
}

fn day(time: SystemTime) -> String {
    let mut text = humantime::format_rfc3339_seconds(time).to_string();
    text.truncate("2027-11-23".len());
    text
}

/// Writes a new certificate to a folder, which takes its name when it is complete. If another Prony has just done the
/// same, the two share that one.
fn create(folder: &Path, now: SystemTime) -> Result<Certificate, CertificateError> {
    let CertifiedKey { cert, signing_key } = self_signed(now)?;
    let named = folder.join(day(now + VALIDITY));
    let write = || {
        fs::create_dir_all(folder)?;
        let unfinished = tempfile::Builder::new().prefix("new-").tempdir_in(folder)?;
        let files = Certificate::in_folder(unfinished.path());
        write_file(&files.certificate, &cert.pem(), 0o644)?;
        write_file(&files.key, &signing_key.serialize_pem(), 0o600)?;
        fs::rename(unfinished.path(), &named)
    };
    let written = write();
    let certificate = Certificate::in_folder(&named);
    match written {
        Ok(()) => Ok(certificate),
        Err(_) if certificate.is_readable() => Ok(certificate),
        Err(_) if named.exists() => Err(CertificateError::Broken(named)),
        Err(source) => Err(CertificateError::Write {
            folder: folder.to_owned(),
            source,
        }),
    }
}

fn write_file(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn self_signed(now: SystemTime) -> Result<CertifiedKey<KeyPair>, rcgen::Error> {
    let signing_key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut parameters = CertificateParams::new(NAMES.map(String::from))?;
    // Clients in containers may have clocks that are behind.
    parameters.not_before = (now - DAY).into();
    parameters.not_after = (now + VALIDITY + DAY).into();
    let cert = parameters.self_signed(&signing_key)?;
    Ok(CertifiedKey { cert, signing_key })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use prony_testkit::{contains, starts_with};

    use super::*;

    #[test]
    fn a_certificate_is_created_once_and_its_key_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let first = Certificate::of(&layout).unwrap();
        let text = fs::read_to_string(&first.certificate).unwrap();
        assert!(text.starts_with("-----BEGIN CERTIFICATE-----\n"), "{text}");
        let key = fs::read_to_string(&first.key).unwrap();
        assert!(key.starts_with("-----BEGIN PRIVATE KEY-----\n"));
        let mode = fs::metadata(&first.key).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(Certificate::of(&layout).unwrap(), first);
        assert_eq!(fs::read_to_string(&first.certificate).unwrap(), text);
        // No unfinished folder is left.
        assert_eq!(fs::read_dir(layout.certificates()).unwrap().count(), 1);
    }

    #[test]
    fn a_certificate_that_expires_soon_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let old = create(&layout.certificates(), SystemTime::now() - 340 * DAY).unwrap();
        let new = Certificate::of(&layout).unwrap();
        assert_ne!(new, old);
        assert!(old.is_readable(), "a running server may still read it");
        assert_eq!(Certificate::of(&layout).unwrap(), new);
    }

    #[test]
    fn several_pronys_at_once_get_the_same_certificate() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let got: Vec<(Certificate, String)> = std::thread::scope(|scope| {
            let get = || {
                let certificate = Certificate::of(&layout).unwrap();
                let text = fs::read_to_string(&certificate.certificate).unwrap();
                (certificate, text)
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(get)).collect();
            threads.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(got.iter().all(|one| *one == got[0]), "{got:?}");
    }

    #[test]
    fn broken_files_are_not_used_and_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let first = Certificate::of(&layout).unwrap();
        fs::write(&first.key, "mine").unwrap();
        let error = Certificate::of(&layout).unwrap_err();
        assert!(matches!(error, CertificateError::Broken(_)), "{error}");
        contains(&error.to_string(), "delete that folder");
        assert_eq!(fs::read_to_string(&first.key).unwrap(), "mine");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        fs::create_dir(layout.state()).unwrap();
        fs::write(layout.certificates(), "a file").unwrap();
        let error = Certificate::of(&layout).unwrap_err().to_string();
        starts_with(&error, "cannot write a certificate to ");
    }
}
