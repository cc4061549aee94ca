//! Messages from and to JSON.

use std::borrow::Cow;
use std::fmt;

use prony_manifest::{did_you_mean, nearest};
use prost::Message;
use prost_reflect::{DynamicMessage, Kind, MessageDescriptor, ReflectMessage, Value};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_path_to_error::{Path, Segment, Track};

/// The most bytes of JSON that [`encode`] takes.
pub const MAX_JSON: usize = 16 << 20;

/// The most messages that [`encode`] makes.
pub const MAX_MESSAGES: usize = 100_000;

/// The most bytes that [`decode`] takes: the limit of most gRPC libraries.
pub const MAX_MESSAGE: usize = 4 << 20;

/// The most messages within each other that [`decode`] shows.
pub const MAX_NESTING: usize = 100;

/// Encodes `json` as messages of the type `input`, in the [JSON mapping of protobuf][mapping].
///
/// If the method does not stream its requests, `json` is one value; nothing (or only whitespace) stands for the message
/// with no field set. If it streams them, `json` is an array of values, or any number of values one after the other;
/// nothing stands for no message. (An array is one message if `input` is `google.protobuf.ListValue` or
/// `google.protobuf.Value`, whose JSON may be an array; several are values one after the other.)
///
/// [mapping]: https://protobuf.dev/programming-guides/json/
///
/// # Errors
/// If `json` is too long, not JSON, or no message of this type. The error names the field, the line and the column.
pub fn encode(
    input: &MessageDescriptor,
    json: &str,
    streams: bool,
) -> Result<Vec<Vec<u8>>, MessageError> {
    let messages = parse(input, json, streams)?;
    for (index, message) in messages.iter().enumerate() {
        if let Some(field) = missing_field(message) {
            let place = if streams {
                format!("message {}: ", index + 1)
            } else {
                String::new()
            };
            return Err(format!("{place}field `{field}` is required").into());
        }
    }
    Ok(messages.iter().map(Message::encode_to_vec).collect())
}

/// How many bytes are parsed at most: each quoted number with an exponent takes another parse of the whole text, so a long text
/// may have only a few of them.
const MOST_PARSED: usize = 256 << 20;

fn parse(
    input: &MessageDescriptor,
    json: &str,
    streams: bool,
) -> Result<Vec<DynamicMessage>, MessageError> {
    if json.len() > MAX_JSON {
        return Err(format!("the JSON is larger than {} MiB", MAX_JSON >> 20).into());
    }
    let json = json.strip_prefix('\u{feff}').unwrap_or(json);
    let mut text = Cow::Borrowed(json);
    let mut before: Option<MessageError> = None;
    let mut parses_left = MOST_PARSED / json.len().max(1);
    loop {
        let error = match parse_text(input, &text, streams) {
            Ok(messages) => return Ok(messages),
            Err(error) if parses_left == 0 => return Err(error),
            Err(error) => error,
        };
        parses_left -= 1;
        // Without its quotes, what failed there is no better.
        let position = error.position;
        if let Some(before) = before.filter(|before| position <= before.position) {
            return Err(before);
        }
        match position.and_then(|at| without_quotes(&text, at)) {
            Some(changed) => text = changed.into(),
            None => return Err(error),
        }
        before = Some(error);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Position {
    line: usize,
    column: usize,
}

/// The JSON without the quotes of the number with an exponent that ends at a position. An integer may be such a number,
/// `"1e2"`, which prost-reflect reads only without quotes.
fn without_quotes(json: &str, at: Position) -> Option<String> {
    let before = json.split_inclusive('\n').take(at.line.checked_sub(1)?);
    let end = before.map(str::len).sum::<usize>() + at.column;
    let text = json.get(..end)?.strip_suffix('"')?;
    let (start, number) = text.rsplit_once('"')?;
    let is_number = number.contains(['e', 'E']) && serde_json::from_str::<f64>(number).is_ok();
    is_number.then(|| format!("{start} {number} {}", &json[end..]))
}

fn parse_text(
    input: &MessageDescriptor,
    json: &str,
    streams: bool,
) -> Result<Vec<DynamicMessage>, MessageError> {
    let begin = json.trim_start();
    if begin.is_empty() {
        return Ok(if streams {
            Vec::new()
        } else {
            vec![DynamicMessage::new(input.clone())]
        });
    }
    let mut deserializer = serde_json::Deserializer::from_str(json);
    if streams && begin.starts_with('[') && !may_be_array(input) {
        let messages = located(input, &mut deserializer, Messages(input))?;
        ended(&mut deserializer)?;
        return Ok(messages);
    }
    if !streams {
        let message = located(input, &mut deserializer, input.clone())?;
        ended(&mut deserializer)?;
        return Ok(vec![message]);
    }
    let (count, fault) = count_values(json)?;
    let mut messages = Vec::with_capacity(count);
    for _ in 0..count {
        messages.push(located(input, &mut deserializer, input.clone())?);
    }
    fault.map_or(Ok(messages), |error| Err(MessageError::json(&error, None)))
}

/// The number of values in a row, up to the first that is not JSON, and what is wrong with that.
///
/// To look for the end after each value instead would take quadratic time: each error counts the lines from the begin.
fn count_values(json: &str) -> Result<(usize, Option<serde_json::Error>), MessageError> {
    let mut count = 0;
    for value in serde_json::Deserializer::from_str(json).into_iter::<IgnoredAny>() {
        if count == MAX_MESSAGES {
            return Err(too_many().into());
        }
        count += 1;
        if let Err(error) = value {
            return Ok((count, Some(error)));
        }
    }
    Ok((count, None))
}

/// Whether the JSON of a message of this type may be an array.
fn may_be_array(message: &MessageDescriptor) -> bool {
    let name = message.full_name();
    name == "google.protobuf.ListValue" || name == "google.protobuf.Value"
}

#[derive(Clone, Copy)]
struct Messages<'a>(&'a MessageDescriptor);

impl<'de> DeserializeSeed<'de> for Messages<'_> {
    type Value = Vec<DynamicMessage>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Messages<'_> {
    type Value = Vec<DynamicMessage>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Self::Value, A::Error> {
        let mut messages = Vec::new();
        while let Some(message) = values.next_element_seed(self.0.clone())? {
            if messages.len() == MAX_MESSAGES {
                return Err(serde::de::Error::custom(too_many()));
            }
            messages.push(message);
        }
        Ok(messages)
    }
}

type JsonText<'a> = serde_json::Deserializer<serde_json::de::StrRead<'a>>;

/// Reads one value. An error names its field.
fn located<'a, S: DeserializeSeed<'a>>(
    input: &MessageDescriptor,
    json: &mut JsonText<'a>,
    seed: S,
) -> Result<S::Value, MessageError> {
    let mut track = Track::new();
    let deserializer = serde_path_to_error::Deserializer::new(json, &mut track);
    seed.deserialize(deserializer)
        .map_err(|error| MessageError::json(&error, Some((input, &track.path()))))
}

fn ended(json: &mut JsonText<'_>) -> Result<(), MessageError> {
    json.end().map_err(|error| MessageError::json(&error, None))
}

/// The path of a required field that is not set.
fn missing_field(message: &DynamicMessage) -> Option<String> {
    let descriptor = message.descriptor();
    let mut fields = descriptor.fields();
    if let Some(field) = fields.find(|field| field.is_required() && !message.has_field(field)) {
        return Some(field.name().to_owned());
    }
    message.fields().find_map(|(field, value)| {
        let mut nested = messages_in(value).into_iter();
        let missing = nested.find_map(missing_field)?;
        Some(format!("{}.{missing}", field.name()))
    })
}

fn messages_in(value: &Value) -> Vec<&DynamicMessage> {
    match value {
        Value::Message(message) => vec![message],
        Value::List(values) => values.iter().filter_map(Value::as_message).collect(),
        Value::Map(values) => values.values().filter_map(Value::as_message).collect(),
        _ => Vec::new(),
    }
}

/// Shows a message of the type `output` as indented JSON. Fields that have their default value, and those that the type
/// does not have, are not shown.
///
/// # Errors
/// If `bytes` is not a message of this type, too long or too deeply nested, or has no JSON form: a `google.protobuf.Any` of an
/// unknown type, a time out of range.
pub fn decode(output: &MessageDescriptor, bytes: &[u8]) -> Result<String, MessageError> {
    if bytes.len() > MAX_MESSAGE {
        let most = MAX_MESSAGE >> 20;
        return Err(format!("the message is larger than {most} MiB").into());
    }
    let message = DynamicMessage::decode(output.clone(), bytes).map_err(|error| {
        let name = output.full_name();
        format!("the bytes are not a `{name}`: {error}")
    })?;
    if !nests_at_most(&message, MAX_NESTING) {
        return Err(format!("the message is nested more than {MAX_NESTING} levels deep").into());
    }
    serde_json::to_string_pretty(&message)
        .map_err(|error| format!("the message has no JSON form: {error}").into())
}

/// Whether at most `levels` messages are within each other, including those in a `google.protobuf.Any`. The decoder
/// limits only the messages between one `Any` and the next.
fn nests_at_most(message: &DynamicMessage, levels: usize) -> bool {
    let Some(levels) = levels.checked_sub(1) else {
        return false;
    };
    let packed = unpack(message);
    packed.is_none_or(|message| nests_at_most(&message, levels))
        && message.fields().all(|(_, value)| {
            let mut nested = messages_in(value).into_iter();
            nested.all(|message| nests_at_most(message, levels))
        })
}

fn unpack(message: &DynamicMessage) -> Option<DynamicMessage> {
    let descriptor = message.descriptor();
    if descriptor.full_name() != "google.protobuf.Any" {
        return None;
    }
    let any: prost_reflect::prost_types::Any = message.transcode_to().ok()?;
    let (_, name) = any.type_url.rsplit_once('/')?;
    let packed = descriptor.parent_pool().get_message_by_name(name)?;
    DynamicMessage::decode(packed, any.value.as_slice()).ok()
}

/// Why JSON is not a message, or a message has no JSON form.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{text}")]
pub struct MessageError {
    text: String,
    position: Option<Position>,
}

impl<T: Into<String>> From<T> for MessageError {
    fn from(text: T) -> Self {
        let text = text.into();
        Self {
            text,
            position: None,
        }
    }
}

fn too_many() -> String {
    format!("there are more than {MAX_MESSAGES} messages")
}

impl MessageError {
    /// An error of the JSON parser in the field at a path of a message.
    fn json(error: &serde_json::Error, place: Option<(&MessageDescriptor, &Path)>) -> Self {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        let position = format!(" at line {line} column {column}");
        let mut message = text.strip_suffix(&position).unwrap_or(&text).to_owned();
        // The parser has read nothing if the first character is wrong.
        let column = column.max(1);
        if let Some((input, path)) = place {
            message += &suggestion(input, path, &message);
            if path.iter().next().is_some() {
                message = format!("field `{path}`: {message}");
            }
        }
        Self {
            text: format!("line {line}, column {column}: {message}"),
            position: Some(Position { line, column }),
        }
    }
}

/// `; did you mean X?` if the message is about an unknown field or enum value.
fn suggestion(input: &MessageDescriptor, path: &Path, message: &str) -> String {
    let Some(name) = message.split('\'').nth(1) else {
        return String::new();
    };
    let place = type_at(input, path);
    did_you_mean(&match place {
        Some(Kind::Message(at)) if message.starts_with("unrecognized field") => {
            let fields: Vec<_> = at.fields().collect();
            nearest(name, fields.iter().map(|field| field.name()))
        }
        Some(Kind::Enum(at)) if message.starts_with("unrecognized enum") => {
            let values: Vec<_> = at.values().collect();
            nearest(name, values.iter().map(|value| value.name()))
        }
        _ => None,
    })
}

/// The type of what is at `path` in a message, or in an array of messages.
fn type_at(message: &MessageDescriptor, path: &Path) -> Option<Kind> {
    let mut kind = Kind::Message(message.clone());
    for segment in path {
        let Segment::Map { key } = segment else {
            continue;
        };
        let Kind::Message(message) = kind else {
            return None;
        };
        kind = if message.is_map_entry() {
            message.map_entry_value_field().kind()
        } else {
            message
                .get_field_by_json_name(key)
                .or_else(|| message.get_field_by_name(key))?
                .kind()
        };
    }
    Some(kind)
}
