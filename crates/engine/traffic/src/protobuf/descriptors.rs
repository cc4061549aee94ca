//! Compiled files (`FileDescriptorProto`) from descriptor sets and servers, checked before they become a schema.

use std::collections::{HashMap, HashSet};

use prost::Message;
use prost_reflect::prost_types::FileDescriptorProto;
use prost_reflect::{DescriptorError, DescriptorPool};

use crate::protobuf::check::check;
use crate::protobuf::error::{MAX_BYTES, MAX_FILES, SchemaError, invalid, printable, too_large};

/// The most ways in which public imports may lead from one file to others.
const MAX_PUBLIC_PATHS: usize = 10_000;

/// Files by name. Each keeps its bytes, because decoding drops custom options.
#[derive(Default)]
pub(crate) struct Descriptors {
    files: HashMap<String, CompiledFile>,
    /// The names of the files in the order in which they were added.
    order: Vec<String>,
    bytes: usize,
}

struct CompiledFile {
    descriptor: FileDescriptorProto,
    encoded: Vec<u8>,
}

pub(crate) struct MissingImport<'a> {
    pub(crate) import: &'a str,
    pub(crate) importer: &'a str,
}

/// A `FileDescriptorSet` whose files stay encoded.
#[derive(Clone, PartialEq, prost::Message)]
struct EncodedSet {
    #[prost(bytes = "vec", repeated, tag = "1")]
    file: Vec<Vec<u8>>,
}

impl Descriptors {
    /// Adds every file of an encoded `FileDescriptorSet`.
    pub(crate) fn add_set(&mut self, bytes: &[u8]) -> Result<(), SchemaError> {
        let set = EncodedSet::decode(bytes)
            .map_err(|error| SchemaError(format!("not a descriptor set ({error})")))?;
        if set.file.is_empty() {
            return Err(SchemaError("the descriptor set is empty".into()));
        }
        set.file
            .into_iter()
            .try_for_each(|file| self.add(file).map(drop))
    }

    /// Adds an encoded file, and returns its name.
    pub(crate) fn add(&mut self, encoded: Vec<u8>) -> Result<String, SchemaError> {
        let descriptor = FileDescriptorProto::decode(encoded.as_slice())
            .map_err(|error| SchemaError(format!("not a compiled file ({error})")))?;
        let name = descriptor.name().to_owned();
        if let Some(known) = self.files.get(&name) {
            return if known.encoded == encoded || known.descriptor == descriptor {
                Ok(name)
            } else {
                Err(invalid(&name, "two different files have this name"))
            };
        }
        check(&descriptor)?;
        self.bytes += encoded.len();
        if self.bytes > MAX_BYTES {
            return Err(too_large());
        }
        if self.files.len() == MAX_FILES {
            return Err(SchemaError(format!(
                "the schema has more than {MAX_FILES} files"
            )));
        }
        self.order.push(name.clone());
        let file = CompiledFile {
            descriptor,
            encoded,
        };
        self.files.insert(name.clone(), file);
        Ok(name)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&FileDescriptorProto> {
        self.files.get(name).map(|file| &file.descriptor)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Whether a file defines this service, method, type, field or value.
    pub(crate) fn defines(&self, symbol: &str) -> bool {
        self.files
            .values()
            .any(|file| defines(&file.descriptor, symbol))
    }

    /// Adds the well-known files that others import.
    pub(crate) fn add_well_known_imports(&mut self) -> Result<(), SchemaError> {
        let well_known = DescriptorPool::global();
        loop {
            let mut imports = self.missing_imports();
            let file = imports.find_map(|missing| well_known.get_file_by_name(missing.import));
            drop(imports);
            match file {
                Some(file) => self.add(file.encode_to_vec())?,
                None => return Ok(()),
            };
        }
    }

    pub(crate) fn missing_import(&self) -> Option<MissingImport<'_>> {
        self.missing_imports().next()
    }

    fn missing_imports(&self) -> impl Iterator<Item = MissingImport<'_>> {
        let files = self.order.iter().map(|name| &self.files[name].descriptor);
        files.flat_map(|file| {
            let imports = file.dependency.iter().map(String::as_str);
            imports
                .filter(|import| !self.files.contains_key(*import))
                .map(|import| MissingImport {
                    import,
                    importer: file.name(),
                })
        })
    }

    pub(crate) fn linked(self) -> Result<DescriptorPool, SchemaError> {
        let mut pool = DescriptorPool::new();
        for name in self.imports_first()? {
            let file = &self.files[name];
            let mut encoded = file.encoded.clone();
            // Concatenated messages merge.
            encoded.extend(self.indirect_imports(&file.descriptor).encode_to_vec());
            let linked = pool.decode_file_descriptor_proto(encoded.as_slice());
            linked.map_err(|error| unlinked(&error))?;
        }
        Ok(pool)
    }

    /// The files that the imports of `file` import publicly, and so on. prost-reflect follows only the first step.
    fn indirect_imports(&self, file: &FileDescriptorProto) -> FileDescriptorProto {
        let mut known: HashSet<&str> = file.dependency.iter().map(String::as_str).collect();
        let mut waiting: Vec<&str> = known.iter().copied().collect();
        let mut indirect = Vec::new();
        while let Some(file) = waiting.pop().and_then(|name| self.files.get(name)) {
            for import in public_imports(&file.descriptor) {
                if known.insert(import) {
                    waiting.push(import);
                    indirect.push(import.to_owned());
                }
            }
        }
        FileDescriptorProto {
            dependency: indirect,
            ..Default::default()
        }
    }

    /// The names of the files, each after those that it imports. Files that import each other have no such order, and
    /// linking them would not end; nor would it end in time if public imports could branch without limit.
    fn imports_first(&self) -> Result<Vec<&str>, SchemaError> {
        let mut order = Vec::with_capacity(self.order.len());
        let mut paths: HashMap<&str, usize> = HashMap::new();
        let mut waiting: HashSet<&str> = HashSet::new();
        for root in &self.order {
            let mut stack = vec![root.as_str()];
            while let Some(&name) = stack.last() {
                let file = self.files.get(name).map(|file| &file.descriptor);
                let Some(file) = file else {
                    return Err(invalid(root, format!("`{name}` is missing")));
                };
                if paths.contains_key(name) {
                    stack.pop();
                    continue;
                }
                let imports = file.dependency.iter().map(String::as_str);
                let unordered: Vec<_> = imports.filter(|i| !paths.contains_key(i)).collect();
                if unordered.is_empty() {
                    let count = public_paths(file, &paths);
                    if count > MAX_PUBLIC_PATHS {
                        return Err(invalid(name, "it imports too many files publicly"));
                    }
                    paths.insert(name, count);
                    order.push(name);
                    waiting.remove(name);
                    stack.pop();
                    continue;
                }
                waiting.insert(name);
                if let Some(import) = unordered.iter().find(|import| waiting.contains(*import)) {
                    return Err(invalid(name, format!("it imports `{import}` in a circle")));
                }
                stack.extend(unordered);
            }
        }
        Ok(order)
    }
}

/// Whether `file` defines `symbol` or what contains it.
fn defines(file: &FileDescriptorProto, symbol: &str) -> bool {
    let name = match file.package() {
        "" => Some(symbol),
        package => symbol
            .strip_prefix(package)
            .and_then(|rest| rest.strip_prefix('.')),
    };
    let Some(first) = name.and_then(|name| name.split('.').next()) else {
        return false;
    };
    let services = file.service.iter().map(|s| s.name());
    let messages = file.message_type.iter().map(|m| m.name());
    let enums = file.enum_type.iter().map(|e| e.name());
    let extensions = file.extension.iter().map(|e| e.name());
    services
        .chain(messages)
        .chain(enums)
        .chain(extensions)
        .any(|known| known == first)
}

/// The names of the files that `file` imports publicly.
fn public_imports(file: &FileDescriptorProto) -> impl Iterator<Item = &str> {
    let public = file.public_dependency.iter();
    public
        .filter_map(|index| file.dependency.get(usize::try_from(*index).ok()?))
        .map(String::as_str)
}

/// In how many ways public imports lead from `file` to others. `known` has the number for each of its imports.
fn public_paths(file: &FileDescriptorProto, known: &HashMap<&str, usize>) -> usize {
    public_imports(file)
        .filter_map(|import| known.get(import))
        .fold(1, |sum: usize, paths| sum.saturating_add(*paths))
}

/// An error of the linker: `file:line:column: what is wrong; what to do`, if the file knows its lines.
fn unlinked(error: &DescriptorError) -> SchemaError {
    // The debug format has the place.
    let mut text = format!("{error:?}");
    if let Some(help) = miette::Diagnostic::help(error) {
        text += &format!("; {help}");
    }
    SchemaError(printable(&text))
}
