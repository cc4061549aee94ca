//! Schemas: the services and types that a set of files defines.

use std::path::PathBuf;

use prony_manifest::UnknownName;
use prost_reflect::{DescriptorPool, ServiceDescriptor};

use crate::protobuf::descriptors::{Descriptors, MissingImport};
use crate::protobuf::error::{MAX_BYTES, SchemaError};
use crate::protobuf::method::{Method, path_of};
use crate::protobuf::source::{self, read};

#[derive(Clone, Debug)]
pub struct Schema {
    pub(crate) pool: DescriptorPool,
}

impl Schema {
    /// Parses `.proto` files and what they import.
    ///
    /// Imports are searched in `import_paths`, then in the folders of `files`, and in the current directory if
    /// `import_paths` is empty. The well-known types (`google/protobuf/*.proto`) need no file. A file that does not
    /// exist at its path is searched like an import.
    ///
    /// # Errors
    /// If a file is missing, too large or not a valid `.proto` file. The error names the file, the line and the column.
    pub fn from_proto_files(
        files: &[PathBuf],
        import_paths: &[PathBuf],
    ) -> Result<Self, SchemaError> {
        let pool = source::compile(files, import_paths)?;
        Ok(Self { pool })
    }

    /// Reads descriptor sets, as `protoc --include_imports --descriptor_set_out` writes them.
    pub fn from_descriptor_sets(files: &[PathBuf]) -> Result<Self, SchemaError> {
        let mut descriptors = Descriptors::default();
        for path in files {
            let bytes =
                read(path, MAX_BYTES).map_err(|error| SchemaError::unreadable(path, &error))?;
            descriptors
                .add_set(&bytes)
                .map_err(|error| error.in_file(path))?;
        }
        Self::complete(descriptors)
    }

    /// Reads one descriptor set from `bytes`.
    pub fn from_descriptor_set(bytes: &[u8]) -> Result<Self, SchemaError> {
        let mut descriptors = Descriptors::default();
        descriptors.add_set(bytes)?;
        Self::complete(descriptors)
    }

    /// Links descriptor sets, and adds the well-known files that they import.
    fn complete(mut descriptors: Descriptors) -> Result<Self, SchemaError> {
        descriptors.add_well_known_imports()?;
        if let Some(MissingImport { import, importer }) = descriptors.missing_import() {
            return Err(SchemaError(format!(
                "the descriptor set lacks `{import}`, which `{importer}` imports; write it with \
                 `protoc --include_imports`"
            )));
        }
        let pool = descriptors.linked()?;
        Ok(Self { pool })
    }

    /// Finds a method by `package.Service/Method`, `/package.Service/Method` or `package.Service.Method`.
    pub fn method(&self, name: &str) -> Result<Method, SchemaError> {
        let (service, method) = split_method_name(name).ok_or_else(|| {
            SchemaError(format!(
                "`{name}` is not the name of a method; write it as package.Service/Method"
            ))
        })?;
        let service = self.service(service)?;
        let found = service.methods().find(|known| known.name() == method);
        found.map(Method::new).ok_or_else(|| {
            let known: Vec<_> = service.methods().map(|m| path_of(&m)).collect();
            let name = format!("{}/{method}", service.full_name());
            UnknownName::new("method", &name, known.iter().map(String::as_str)).into()
        })
    }

    pub(crate) fn service(&self, name: &str) -> Result<ServiceDescriptor, SchemaError> {
        if let Some(service) = self.pool.get_service_by_name(name) {
            return Ok(service);
        }
        let kind = if self.pool.get_message_by_name(name).is_some() {
            "a message"
        } else if self.pool.get_enum_by_name(name).is_some() {
            "an enum"
        } else {
            let known = self.services();
            return Err(UnknownName::new("service", name, known.iter().map(String::as_str)).into());
        };
        Err(SchemaError(format!("`{name}` is {kind} and not a service")))
    }

    /// The full names of the services, sorted.
    pub fn services(&self) -> Vec<String> {
        let services = self.pool.services();
        let mut names: Vec<_> = services.map(|s| s.full_name().to_owned()).collect();
        names.sort_unstable();
        names
    }
}

/// The service and the method in `package.Service/Method` and its variants.
pub(crate) fn split_method_name(name: &str) -> Option<(&str, &str)> {
    let name = name.strip_prefix('/').unwrap_or(name);
    let (service, method) = name.rsplit_once('/').or_else(|| name.rsplit_once('.'))?;
    (!service.is_empty() && !method.is_empty()).then_some((service, method))
}
