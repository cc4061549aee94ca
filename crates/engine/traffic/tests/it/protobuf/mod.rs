//! Schemas, messages, descriptions and reflection, and what hostile input makes of them.

mod describe;
mod hostile;
mod message;
mod reflection;
mod schema;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use prony_traffic::protobuf::Schema;

/// The folder of the `.proto` files.
fn protos() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/protos")
}

/// The schema of the catalog, which has every kind of field.
fn shop() -> Schema {
    static SHOP: LazyLock<Schema> = LazyLock::new(|| compile("shop/catalog.proto"));
    SHOP.clone()
}

fn compile(file: &str) -> Schema {
    Schema::from_proto_files(&[protos().join(file)], &[protos()]).unwrap()
}

/// That two schemas describe these symbols alike.
#[track_caller]
fn assert_same(schema: &Schema, other: &Schema, symbols: &[&str]) {
    for symbol in symbols {
        let expected = other.describe(symbol).unwrap();
        assert_eq!(schema.describe(symbol).unwrap(), expected);
    }
}
