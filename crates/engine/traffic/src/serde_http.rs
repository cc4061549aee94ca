//! Parts of HTTP in JSON.

use http::{HeaderName, HeaderValue};

pub type Field = (HeaderName, HeaderValue);

pub(crate) mod method {
    use http::Method;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(method: &Method, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(method.as_str())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Method, D::Error> {
        let name = String::deserialize(from)?;
        Method::from_bytes(name.as_bytes()).map_err(D::Error::custom)
    }
}

pub(crate) mod fields {
    use http::{HeaderName, HeaderValue};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Field;
    use crate::base64::Base64;

    pub(crate) fn serialize<S: Serializer>(fields: &[Field], to: S) -> Result<S::Ok, S::Error> {
        let pairs = fields.iter();
        to.collect_seq(
            pairs.map(|(name, value)| (name.as_str(), Base64(value.as_bytes().to_vec()))),
        )
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Field>, D::Error> {
        let pairs = Vec::<(String, Base64)>::deserialize(from)?.into_iter();
        let fields = pairs.map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(D::Error::custom)?;
            let value = HeaderValue::from_bytes(&value.0).map_err(D::Error::custom)?;
            Ok((name, value))
        });
        fields.collect()
    }
}
