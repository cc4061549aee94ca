//! What Prony knows about protobuf: schemas from `.proto` files, descriptor sets and server reflection, messages from
//! and to JSON, and descriptions of services and types as text. It opens no socket: [`Reflection`] takes a function
//! that calls a method of the server.

mod check;
mod describe;
mod descriptors;
mod error;
mod message;
mod method;
mod reflection;
mod schema;
mod source;

pub use error::{MAX_BYTES, MAX_FILES, SchemaError};
pub use message::{MAX_JSON, MAX_MESSAGE, MAX_MESSAGES, MAX_NESTING, MessageError, decode, encode};
pub use method::Method;
pub use prost_reflect::MessageDescriptor;
pub use reflection::{CallError, Reflection, ReflectionError};
pub use schema::Schema;
