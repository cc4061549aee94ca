//! Certificates and private keys in PEM files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use prony_model::without_mark;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::error::TlsError;

/// The longest PEM file that Prony reads. All of a machine's root certificates are some 250 KiB.
pub const LONGEST_PEM_FILE: u64 = 8 << 20;

/// All certificates in a file: at least one.
pub(super) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(file)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let certificates = certificates.map_err(|error| damaged(file, &error))?;
    if certificates.is_empty() {
        return Err(TlsError::NoCertificate { file: file.into() });
    }
    Ok(certificates)
}

/// The first private key in a file.
pub(super) fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(&read(file)?).map_err(|error| match error {
        pem::Error::NoItemsFound => TlsError::NoKey { file: file.into() },
        error => damaged(file, &error),
    })
}

fn read(file: &Path) -> Result<Vec<u8>, TlsError> {
    let unreadable = |source| TlsError::Read {
        file: file.into(),
        source,
    };
    let mut text = Vec::new();
    let opened = File::open(file).map_err(unreadable)?;
    let mut start = opened.take(LONGEST_PEM_FILE + 1);
    start.read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > LONGEST_PEM_FILE {
        return Err(TlsError::TooLong {
            file: file.into(),
            most_bytes: LONGEST_PEM_FILE,
        });
    }
    if memchr::memmem::find(&text, b"-----BEGIN ").is_none() {
        return Err(TlsError::NotPem { file: file.into() });
    }
    // The first line must be that of the first item.
    let mark = text.len() - without_mark(&text).len();
    text.drain(..mark);
    Ok(text)
}

fn damaged(file: &Path, error: &pem::Error) -> TlsError {
    let reason = match error {
        pem::Error::MissingSectionEnd { end_marker } => {
            let label = String::from_utf8_lossy(end_marker);
            format!("the line `-----END {label}-----` is missing")
        }
        pem::Error::IllegalSectionStart { line } => {
            let line = String::from_utf8_lossy(line);
            format!("the line `{}` is not a valid BEGIN line", line.trim_end())
        }
        pem::Error::Base64Decode(reason) => format!("it is not base64 ({reason})"),
        error => error.to_string(),
    };
    TlsError::Damaged {
        file: file.into(),
        reason,
    }
}
