//! From a manifest's text to what it means.

use std::ops::Range;
use std::path::Path;

use prony_server::nearest;
use regex::Regex;
use toml::Spanned;

use super::raw::{
    Format, RawArguments, RawBytes, RawBytesUnit, RawCount, RawLatency, RawManifest, RawOutput,
    RawRateLatency, RawTime, RawTimeUnit, Words as RawWords,
};
use super::template::{Placeholder, Template};
use super::{Arguments, MANIFEST_FILE, Manifest, ManifestError, Problem, VersionCommand, Words};
use crate::reading::{
    BytesUnit, CountField, Counted, Field, LatencyFields, Output, Place, RateLatency, TimeUnit,
    time,
};

type Result<T> = std::result::Result<T, Fault>;

/// What is wrong, and where in the text.
struct Fault(Option<Range<usize>>, Problem);

pub fn read(text: &str, folder: &Path) -> std::result::Result<Manifest, ManifestError> {
    let read = toml::from_str::<RawManifest>(text).map_err(|error| syntax(&error));
    let read = read.and_then(|raw| manifest(raw, folder));
    read.map_err(|Fault(span, problem)| ManifestError {
        file: folder.join(MANIFEST_FILE),
        line: span.map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1),
        problem,
    })
}

/// What serde says of unknown names lists the known ones: "unknown field `a`, expected one of `b`,
/// `c`".
fn syntax(error: &toml::de::Error) -> Fault {
    let message = error.message().trim().replace('\n', "; ");
    let mut names = message.split('`').skip(1).step_by(2);
    let nearest = match (message.starts_with("unknown "), names.next()) {
        (true, Some(wrong)) => nearest(wrong, names),
        _ => None,
    };
    Fault(error.span(), Problem::Syntax { message, nearest })
}

fn manifest(raw: RawManifest, folder: &Path) -> Result<Manifest> {
    let arguments = arguments(&raw.arguments)?;
    let output = output(&raw.output)?;
    if arguments.rate.is_some() && output.rate_latency_from.is_none() {
        return Err(Fault(None, Problem::RateLatency));
    }
    let version = raw.version.map(|version| {
        Ok(VersionCommand {
            pattern: pattern(version.pattern.get_ref()).map_err(at(&version.pattern))?,
            arguments: version.arguments,
        })
    });
    let variable = |(name, value): (String, Spanned<String>)| {
        let value = Template::new(value.get_ref(), Placeholder::ANY).map_err(at(&value))?;
        Ok((name, value))
    };
    Ok(Manifest {
        folder: folder.to_owned(),
        program: Template::new(
            &filled("program", &raw.program)?,
            &[Placeholder::Prony, Placeholder::Driver],
        )
        .map_err(at(&raw.program))?,
        title: filled("title", &raw.title)?,
        install: filled("install", &raw.install)?,
        notes: raw.notes,
        version: version.transpose()?,
        arguments,
        environment: raw
            .environment
            .into_iter()
            .map(variable)
            .collect::<Result<_>>()?,
        output,
    })
}

/// Says where a problem is: for `map_err`.
fn at<T>(place: &Spanned<T>) -> impl Fn(Problem) -> Fault {
    let span = place.span();
    move |problem| Fault(Some(span.clone()), problem)
}

fn filled(name: &'static str, text: &Spanned<String>) -> Result<String> {
    match text.get_ref().trim() {
        "" => Err(at(text)(Problem::Empty(name))),
        text => Ok(text.to_owned()),
    }
}

fn arguments(raw: &RawArguments) -> Result<Arguments> {
    use Placeholder::*;
    let arguments = Arguments {
        before: words(&raw.before, &[])?,
        closed: maybe(&raw.closed, &[])?,
        rate: maybe(&raw.rate, &[Rate, RatePerConnection])?,
        keep: words(&raw.keep, &[])?,
        close: maybe(&raw.close, &[])?,
        pipeline: maybe(&raw.pipeline, &[Pipeline])?,
        duration: maybe(&raw.duration, &[Seconds, Milliseconds])?,
        requests: maybe(&raw.requests, &[Requests])?,
        header: maybe(&raw.header, &[Header])?,
        method: maybe(&raw.method, &[Method])?,
        body: maybe(&raw.body, &[BodyFile])?,
        after: words(&raw.after, &[])?,
    };
    let neither = |a: &Option<Words>, b: &Option<Words>| a.is_none() && b.is_none();
    if neither(&arguments.closed, &arguments.rate) {
        return Err(Fault(None, Problem::Neither("closed", "rate")));
    }
    if neither(&arguments.duration, &arguments.requests) {
        return Err(Fault(None, Problem::Neither("duration", "requests")));
    }
    Ok(arguments)
}

fn words(raw: &RawWords, own: &[Placeholder]) -> Result<Words> {
    let allowed = [Placeholder::COMMON, own].concat();
    let template =
        |word: &Spanned<String>| Template::new(word.get_ref(), &allowed).map_err(at(word));
    raw.iter().map(template).collect()
}

fn maybe(raw: &Option<RawWords>, own: &[Placeholder]) -> Result<Option<Words>> {
    raw.as_ref().map(|raw| words(raw, own)).transpose()
}

fn output(raw: &RawOutput) -> Result<Output> {
    let format = raw.format;
    let counted = [
        (&raw.ok, Counted::Ok as fn(_) -> _),
        (&raw.responses, Counted::Responses),
        (&raw.requests, Counted::Requests),
        (&raw.requests_per_s, Counted::RequestsPerS),
    ];
    let mut told = counted
        .into_iter()
        .filter_map(|(field, kind)| Some((field.as_ref()?, kind)));
    let (Some((field, kind)), None) = (told.next(), told.next()) else {
        return Err(Fault(None, Problem::Count));
    };
    let errors = raw.errors.iter();
    Ok(Output {
        is_json: format == Format::Json,
        rate_latency_from: raw.rate_latency_from.map(|from| match from {
            RawRateLatency::Schedule => RateLatency::Schedule,
            RawRateLatency::Send => RateLatency::Send,
        }),
        counted: kind(count(format, field)?),
        wrong_status: raw
            .wrong_status
            .as_ref()
            .map(|one| count(format, one))
            .transpose()?,
        unfinished: raw
            .unfinished
            .as_ref()
            .map(|one| count(format, one))
            .transpose()?,
        errors: errors
            .map(|(kind, field)| Ok((kind.clone(), count(format, field)?)))
            .collect::<Result<_>>()?,
        duration: duration(format, &raw.duration)?,
        bytes_read: raw
            .bytes_read
            .as_ref()
            .map(|one| bytes(format, one))
            .transpose()?,
        body_bytes: raw
            .body_bytes
            .as_ref()
            .map(|one| bytes(format, one))
            .transpose()?,
        latency: latency(format, &raw.latency)?,
    })
}

fn latency(format: Format, raw: &RawLatency) -> Result<LatencyFields> {
    let field = |field: &Option<Spanned<RawTime>>| {
        field
            .as_ref()
            .map(|field| duration(format, field))
            .transpose()
    };
    let resolution = raw.resolution.as_ref().map(|text| {
        time(text.get_ref()).ok_or_else(|| {
            let message = format!("`{}` is no time; write for instance 1ms", text.get_ref());
            at(text)(Problem::Syntax {
                message,
                nearest: None,
            })
        })
    });
    Ok(LatencyFields {
        resolution_ns: resolution.transpose()?,
        mean: field(&raw.mean)?,
        p50: field(&raw.p50)?,
        p90: field(&raw.p90)?,
        p99: field(&raw.p99)?,
        p999: field(&raw.p999)?,
        max: field(&raw.max)?,
    })
}

fn count(format: Format, raw: &Spanned<RawCount>) -> Result<CountField> {
    let field = raw.get_ref();
    let mut place = place(format, &field.pattern, &field.pointer).map_err(at(raw))?;
    let regex = |text: &Option<String>| {
        let compiled = text.as_deref().map(Regex::new).transpose();
        compiled.map_err(|error| at(raw)(Problem::Pattern(error.to_string())))
    };
    match &mut place {
        Place::Pattern { sum, .. } => *sum = field.sum,
        Place::Pointer { keys, except, .. } => {
            *keys = regex(&field.keys)?;
            *except = regex(&field.except)?;
        }
    }
    Ok(CountField {
        place,
        otherwise: field.otherwise,
    })
}

fn duration(format: Format, raw: &Spanned<RawTime>) -> Result<Field<TimeUnit>> {
    let field = raw.get_ref();
    Ok(Field {
        place: place(format, &field.pattern, &field.pointer).map_err(at(raw))?,
        unit: match field.unit {
            RawTimeUnit::Ns => TimeUnit::Nanoseconds(1.0),
            RawTimeUnit::Us => TimeUnit::Nanoseconds(1e3),
            RawTimeUnit::Ms => TimeUnit::Nanoseconds(1e6),
            RawTimeUnit::S => TimeUnit::Nanoseconds(1e9),
            RawTimeUnit::Written => TimeUnit::Written,
        },
    })
}

fn bytes(format: Format, raw: &Spanned<RawBytes>) -> Result<Field<BytesUnit>> {
    let field = raw.get_ref();
    Ok(Field {
        place: place(format, &field.pattern, &field.pointer).map_err(at(raw))?,
        unit: match field.unit {
            RawBytesUnit::Bytes => BytesUnit::Bytes,
            RawBytesUnit::Written => BytesUnit::Written,
        },
    })
}

fn place(
    format: Format,
    text: &Option<String>,
    pointer: &Option<String>,
) -> std::result::Result<Place, Problem> {
    match (format, text, pointer) {
        (Format::Text, Some(text), None) => Ok(Place::Pattern {
            pattern: pattern(text)?,
            sum: false,
        }),
        (Format::Json, None, Some(pointer)) if pointer.starts_with('/') => Ok(Place::Pointer {
            pointer: pointer.clone(),
            keys: None,
            except: None,
        }),
        (Format::Json, None, Some(pointer)) => Err(Problem::Pointer(pointer.clone())),
        (Format::Text, ..) => Err(Problem::WrongFormat {
            format: "text",
            wants: "pattern",
        }),
        (Format::Json, ..) => Err(Problem::WrongFormat {
            format: "json",
            wants: "pointer",
        }),
    }
}

fn pattern(text: &str) -> std::result::Result<Regex, Problem> {
    let regex = Regex::new(text).map_err(|error| Problem::Pattern(error.to_string()))?;
    match regex.captures_len() {
        0 | 1 => Err(Problem::NoGroup),
        _ => Ok(regex),
    }
}
