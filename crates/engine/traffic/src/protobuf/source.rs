//! `.proto` files and where they are searched.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use prost::Message;
use prost_reflect::DescriptorPool;
use prost_reflect::prost_types::FileDescriptorProto;
use protox_parse::ParseError;

use crate::protobuf::descriptors::Descriptors;
use crate::protobuf::error::{MAX_BYTES, SchemaError, too_large};

/// Parses `protos` and what they import.
pub(crate) fn compile(
    protos: &[PathBuf],
    import_paths: &[PathBuf],
) -> Result<DescriptorPool, SchemaError> {
    let mut sources = Sources {
        folders: search_path(protos, import_paths),
        ..Sources::default()
    };
    for proto in protos {
        let name = name_of(proto, &sources.folders)?;
        if !sources.descriptors.has(&name) && !sources.add(&name)? {
            let place = format!("{} not found", proto.display());
            return Err(sources.missing(&place));
        }
    }
    sources.add_imports()?;
    let Sources {
        descriptors, paths, ..
    } = sources;
    let pool = descriptors
        .linked()
        .map_err(|error| with_path(error, &paths))?;
    relink(&pool)
}

/// Links files again: prost-reflect interprets the options of a parsed file too late to heed `packed`.
fn relink(pool: &DescriptorPool) -> Result<DescriptorPool, SchemaError> {
    let encoded = pool.encode_to_vec();
    let pool = DescriptorPool::decode(encoded.as_slice());
    pool.map_err(|error| SchemaError(format!("{error:?}")))
}

/// The folders in which imports are searched, in order.
fn search_path(protos: &[PathBuf], import_paths: &[PathBuf]) -> Vec<PathBuf> {
    let own = protos
        .iter()
        .filter(|proto| proto.is_file())
        .filter_map(|proto| proto.parent());
    let current = import_paths.is_empty().then(|| Path::new("."));
    let all = import_paths.iter().map(PathBuf::as_path);
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in all.chain(own).chain(current) {
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        if !folders.iter().any(|known| known == folder) {
            folders.push(folder.to_owned());
        }
    }
    folders
}

/// The name by which other files import `proto`: its path in the first folder that contains it.
fn name_of(proto: &Path, folders: &[PathBuf]) -> Result<String, SchemaError> {
    let text = |name: &Path| match name.to_str() {
        Some(name) => Ok(name.to_owned()),
        None => Err(SchemaError("its name is not UTF-8".into()).in_file(proto)),
    };
    if !proto.is_file() {
        return text(proto);
    }
    let absolute = |path: &Path| {
        std::path::absolute(path).map_err(|error| SchemaError::unreadable(path, &error))
    };
    let full = absolute(proto)?;
    for folder in folders {
        let Ok(name) = full.strip_prefix(absolute(folder)?) else {
            continue;
        };
        if name.components().all(|c| matches!(c, Component::Normal(_))) {
            return text(name);
        }
    }
    text(proto)
}

#[derive(Default)]
struct Sources {
    folders: Vec<PathBuf>,
    descriptors: Descriptors,
    /// The path of each file, by its name.
    paths: HashMap<String, PathBuf>,
    /// The name of each file, by its canonical path.
    names: HashMap<PathBuf, String>,
    /// The length of all texts. That of the compiled files counts separately.
    bytes: usize,
}

impl Sources {
    /// Searches a file in the folders, and parses it. Whether it was found.
    fn add(&mut self, name: &str) -> Result<bool, SchemaError> {
        for folder in &self.folders {
            let path = folder.join(name);
            let bytes = match read(&path, MAX_BYTES) {
                Err(error) if is_missing(&error) => continue,
                result => result.map_err(|error| SchemaError::unreadable(&path, &error))?,
            };
            self.parse(name, path, bytes)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn parse(&mut self, name: &str, path: PathBuf, bytes: Vec<u8>) -> Result<(), SchemaError> {
        self.bytes += bytes.len();
        if self.bytes > MAX_BYTES {
            return Err(too_large());
        }
        let canonical = path.canonicalize().unwrap_or_else(|_| path.clone());
        if let Some(other) = self.names.insert(canonical, name.to_owned()) {
            let text = format!(
                "the file is imported as both `{other}` and `{name}`; name the folder that imports \
                 start from with --import-path"
            );
            return Err(SchemaError(text).in_file(&path));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| SchemaError("the file is not UTF-8".into()).in_file(&path))?;
        self.paths.insert(name.to_owned(), path);
        let added = match protox_parse::parse(name, text.trim_start_matches('\u{feff}')) {
            Ok(file) => self.descriptors.add(file.encode_to_vec()).map(drop),
            Err(error) => Err(unparsed(&error)),
        };
        added.map_err(|error| with_path(error, &self.paths))
    }

    fn add_imports(&mut self) -> Result<(), SchemaError> {
        self.descriptors.add_well_known_imports()?;
        while let Some(missing) = self.descriptors.missing_import() {
            let (import, importer) = (missing.import.to_owned(), missing.importer.to_owned());
            if !self.add(&import)? {
                let place = match self.descriptors.get(&importer) {
                    Some(file) => place_of_import(file, &import),
                    None => String::new(),
                };
                let text = format!("{importer}{place}: import `{import}` not found");
                return Err(with_path(self.missing(&text), &self.paths));
            }
            self.descriptors.add_well_known_imports()?;
        }
        Ok(())
    }

    fn missing(&self, what: &str) -> SchemaError {
        let folders: Vec<_> = self
            .folders
            .iter()
            .map(|f| f.display().to_string())
            .collect();
        SchemaError(format!(
            "{what}; searched in {}; add its folder with --import-path",
            folders.join(", ")
        ))
    }
}

/// `:line:column` of an import, if the file knows its lines.
fn place_of_import(file: &FileDescriptorProto, import: &str) -> String {
    const DEPENDENCY: i32 = 3;
    let index = file.dependency.iter().position(|name| name == import);
    let path = index.and_then(|index| Some([DEPENDENCY, i32::try_from(index).ok()?]));
    let mut places = file.source_code_info.iter().flat_map(|info| &info.location);
    let place = path.and_then(|path| places.find(|place| place.path == path));
    match place.map(|place| place.span.as_slice()) {
        Some([line, column, ..]) => format!(":{}:{}", line + 1, column + 1),
        _ => String::new(),
    }
}

/// An error of the parser: `file:line:column: what is wrong; what to do`.
fn unparsed(error: &ParseError) -> SchemaError {
    // The debug format has the place.
    let mut text = format!("{error:?}");
    if text.ends_with("but found 'edition'") {
        let place = text.split(' ').next().unwrap_or_default();
        text = format!(
            "{place} Prony reads `syntax = \"proto2\"` and `syntax = \"proto3\"`; editions are not supported"
        );
    } else if let Some(help) = miette::Diagnostic::help(error) {
        text += &format!("; {help}");
    }
    SchemaError(text)
}

/// Replaces the name at the start of an error by the path of the file.
fn with_path(error: SchemaError, paths: &HashMap<String, PathBuf>) -> SchemaError {
    let located = paths.iter().find_map(|(name, path)| {
        let rest = error.0.strip_prefix(name)?;
        let is_place = rest.starts_with(':');
        is_place.then(|| format!("{}{rest}", path.display()))
    });
    located.map_or(error, SchemaError)
}

fn is_missing(error: &io::Error) -> bool {
    use ErrorKind::{IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | IsADirectory)
}

/// Reads a file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = limit as u64 + 1;
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(io::Error::other(too_large().to_string()));
    }
    Ok(bytes)
}
