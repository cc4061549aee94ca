//! A server on the command line that is named by its folder: `[NAME=]FOLDER[@VARIANT]`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use prony_server::Server;

/// A folder anywhere, with the variant and the name that are wanted of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerPath {
    name: Option<String>,
    folder: PathBuf,
    variant: Option<String>,
}

impl ServerPath {
    /// Whether text names a folder, and not the id of a server of the project.
    pub fn is_meant(text: &str) -> bool {
        text.contains(['/', '=']) || text == "." || text == ".."
    }

    /// Reads the server.
    ///
    /// # Errors
    /// If the folder is no server's, has no such variant, or the name is none.
    pub fn open(&self) -> Result<Server, Box<dyn Error>> {
        let mut server = Server::open(&self.folder)?;
        if let Some(variant) = &self.variant {
            server = server.variant(variant)?;
        }
        match &self.name {
            Some(name) => Ok(server.named(name)?),
            None => Ok(server),
        }
    }
}

impl FromStr for ServerPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, path) = match text.split_once('=') {
            // A folder's name may hold the sign; a server's name holds no slash.
            Some((name, path)) if !name.contains('/') => (Some(name), path),
            _ => (None, text),
        };
        if path.is_empty() {
            return Err(
                "it names no folder; write FOLDER, FOLDER@VARIANT or NAME=FOLDER".to_owned(),
            );
        }
        let (folder, variant) = match path.rsplit_once('@') {
            Some((folder, variant)) if !variant.contains('/') && !Path::new(path).exists() => {
                (folder, Some(variant))
            }
            _ => (path, None),
        };
        Ok(Self {
            name: name.map(str::to_owned),
            folder: folder.into(),
            variant: variant.map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_may_have_a_name_before_it_and_a_variant_after_it() {
        let parts = |text: &str| {
            let path: ServerPath = text.parse().unwrap();
            let folder = path.folder.to_str().unwrap().to_owned();
            (path.name, folder, path.variant)
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(parts("../a"), (None, "../a".to_owned(), None));
        assert_eq!(parts("new=../a"), (some("new"), "../a".to_owned(), None));
        let both = parts("new=../a@fast");
        assert_eq!(both, (some("new"), "../a".to_owned(), some("fast")));
        assert_eq!(parts("./a=b/c"), (None, "./a=b/c".to_owned(), None));
        assert_eq!(parts("./a@b/c"), (None, "./a@b/c".to_owned(), None));
        assert!("new=".parse::<ServerPath>().is_err());
    }

    #[test]
    fn a_folder_whose_name_holds_the_sign_is_that_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a@b");
        std::fs::create_dir(&path).unwrap();
        let parsed: ServerPath = path.to_str().unwrap().parse().unwrap();
        assert_eq!((parsed.folder, parsed.variant), (path, None));
    }
}
