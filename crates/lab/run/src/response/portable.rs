//! Expected responses as data for other hosts.

use prony_load::{Accepted, Base64, NotPortable, Portable, RebuildError};
use prony_traffic::Secrets;
use serde::{Deserialize, Serialize};

use super::body::{BodyCheck, BodyContent};
use super::json_path::{PathRule, PathTest, PathTests};
use super::messages::Messages;
use super::rules::{Amount, Pattern};
use super::schema::Schema;
use super::{ExpectedResponse, LineOf, Patch};
use crate::json::Json;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResponseData {
    statuses: Vec<u16>,
    #[serde(deserialize_with = "Option::deserialize")]
    content_type: Option<String>,
    headers: Vec<(String, String)>,
    body: BodyData,
    #[serde(deserialize_with = "Option::deserialize")]
    accepted: Option<Accepted>,
    secrets: Secrets,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BodyData {
    #[serde(deserialize_with = "Option::deserialize")]
    content: Option<ContentData>,
    #[serde(deserialize_with = "Option::deserialize")]
    size: Option<AmountData>,
    /// As its text, like all JSON here: the document may be nested less deeply than bodies.
    #[serde(deserialize_with = "Option::deserialize")]
    json: Option<String>,
    json_path: Vec<PathData>,
    #[serde(deserialize_with = "Option::deserialize")]
    schema: Option<SchemaData>,
    matches: Vec<Pattern>,
    contains: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum ContentData {
    Exact(Base64),
    LineOf {
        file: String,
        lines: Vec<Base64>,
        shares: Vec<f64>,
    },
    Patch(Vec<String>),
    Messages {
        each: Base64,
        count: u32,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AmountData {
    min: u64,
    #[serde(deserialize_with = "Option::deserialize")]
    max: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PathData {
    path: String,
    tests: Vec<TestData>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TestData {
    Equals(String),
    Matches(Pattern),
    Exists(bool),
    Count(AmountData),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SchemaData {
    name: String,
    schema: String,
}

impl ExpectedResponse {
    /// The kind of its [`Portable`].
    pub const KIND: &str = "expected-response";

    pub(super) fn to_portable(&self) -> Result<Portable, NotPortable> {
        let Self {
            statuses,
            content_type,
            headers,
            body,
            accepted,
            secrets,
        } = self.clone();
        let data = ResponseData {
            statuses,
            content_type,
            headers,
            body: BodyData::of(body),
            accepted,
            secrets,
        };
        Portable::new(Self::KIND, &data)
    }

    /// Rebuilds it.
    ///
    /// # Errors
    ///
    /// If the content is not that of an expected response.
    pub fn rebuild(portable: &Portable) -> Result<Self, RebuildError> {
        let data: ResponseData = portable.read()?;
        if data.statuses.is_empty() {
            return Err(portable.damaged("it has no status"));
        }
        let body = data.body.body();
        Ok(Self {
            statuses: data.statuses,
            content_type: data.content_type,
            headers: data.headers,
            body: body.map_err(|reason| portable.damaged(reason))?,
            accepted: data.accepted,
            secrets: data.secrets,
        })
    }
}

impl BodyData {
    fn of(body: BodyCheck) -> Self {
        let BodyCheck {
            content,
            size,
            json,
            json_path,
            schema,
            matches,
            contains,
        } = body;
        Self {
            content: content.map(ContentData::of),
            size: size.map(AmountData::of),
            json: json.map(|json| json.text().to_owned()),
            json_path: json_path.iter().map(PathData::of).collect(),
            schema: schema.map(|schema| SchemaData {
                name: schema.name().to_owned(),
                schema: schema.schema().to_string(),
            }),
            matches,
            contains,
        }
    }

    fn body(self) -> Result<BodyCheck, String> {
        let rules = self.json_path.into_iter().map(PathData::rule);
        Ok(BodyCheck {
            content: self.content.map(ContentData::content).transpose()?,
            size: self.size.map(AmountData::amount).transpose()?,
            json: self.json.map(Json::parse).transpose()?,
            json_path: rules.collect::<Result<_, _>>()?,
            schema: self.schema.map(SchemaData::schema).transpose()?,
            matches: self.matches,
            contains: self.contains,
        })
    }
}

impl ContentData {
    fn of(content: BodyContent) -> Self {
        match content {
            BodyContent::Exact(body) => Self::Exact(Base64(body)),
            BodyContent::LineOf(LineOf {
                file,
                lines,
                shares,
            }) => Self::LineOf {
                file,
                lines: lines.into_iter().map(Base64).collect(),
                shares,
            },
            BodyContent::Patch(Patch { data }) => Self::Patch(data),
            BodyContent::Messages(messages) => Self::Messages {
                each: Base64(messages.each().to_vec()),
                count: messages.count(),
            },
        }
    }

    fn content(self) -> Result<BodyContent, String> {
        Ok(match self {
            Self::Exact(body) => BodyContent::Exact(body.0),
            Self::LineOf {
                file,
                lines,
                shares,
            } => {
                let lines: Vec<Vec<u8>> = lines.into_iter().map(|line| line.0).collect();
                let is_sorted = lines.is_sorted_by(|one, other| one < other);
                if lines.is_empty() || lines.len() != shares.len() || !is_sorted {
                    return Err("its lines are no lines of a file".to_owned());
                }
                BodyContent::LineOf(LineOf {
                    file,
                    lines,
                    shares,
                })
            }
            Self::Patch(data) => BodyContent::Patch(Patch { data }),
            Self::Messages { each, count } => BodyContent::Messages(Messages::of(each.0, count)?),
        })
    }
}

impl AmountData {
    fn of(amount: Amount) -> Self {
        Self {
            min: amount.min(),
            max: amount.max(),
        }
    }

    fn amount(self) -> Result<Amount, String> {
        Amount::within(self.min, self.max)
    }
}

impl PathData {
    fn of(rule: &PathRule) -> Self {
        let (path, tests) = rule.parts();
        Self {
            path: path.to_owned(),
            tests: tests.0.iter().map(TestData::of).collect(),
        }
    }

    fn rule(self) -> Result<PathRule, String> {
        let tests = self.tests.into_iter().map(TestData::test);
        PathRule::new(self.path, PathTests(tests.collect::<Result<_, _>>()?))
    }
}

impl TestData {
    fn of(test: &PathTest) -> Self {
        match test {
            PathTest::Equals(json) => Self::Equals(json.text().to_owned()),
            PathTest::Matches(pattern) => Self::Matches(pattern.clone()),
            PathTest::Exists(exists) => Self::Exists(*exists),
            PathTest::Count(amount) => Self::Count(AmountData::of(*amount)),
        }
    }

    fn test(self) -> Result<PathTest, String> {
        Ok(match self {
            Self::Equals(text) => PathTest::Equals(Json::parse(text)?),
            Self::Matches(pattern) => PathTest::Matches(pattern),
            Self::Exists(exists) => PathTest::Exists(exists),
            Self::Count(amount) => PathTest::Count(amount.amount()?),
        })
    }
}

impl SchemaData {
    fn schema(self) -> Result<Schema, String> {
        let schema = Json::parse(self.schema)?;
        Schema::of(self.name, schema.value().clone())
    }
}
