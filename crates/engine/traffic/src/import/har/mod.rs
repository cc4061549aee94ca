//! Requests that a browser recorded: HAR 1.2.

mod entry;
mod format;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::{DateTime, FixedOffset, TimeDelta};

use self::format::{Har, HarEntry, HarRequest};
use super::scenario::{Content, Part};
use super::url::Url;
use super::{ImportError, Imported, MAX_INPUT_BYTES, refuse};

/// Which recorded requests are imported, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct HarOptions {
    /// Requests to every host, not only to that of the first page.
    pub all_hosts: bool,
    /// No images, styles, fonts, scripts, sounds and films.
    pub no_assets: bool,
    /// Wait between requests as the recorded user did.
    pub think_time: bool,
}

/// Reads the requests of a HAR file, in their order.
pub fn har(text: &str, options: HarOptions) -> Result<Imported, ImportError> {
    if text.len() > MAX_INPUT_BYTES {
        return refuse(format!(
            "the file is longer than {} MiB; export it without content",
            MAX_INPUT_BYTES >> 20
        ));
    }
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return refuse(
            "the file is empty; export it from the network tab of a browser's developer tools",
        );
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let Har { log } = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| format!("this is not a HAR file: {error}"))?;
    if log.entries.is_empty() {
        return refuse(
            "the file has no requests; reload the page while the network tab is open, and export it again",
        );
    }
    let first_page = log.pages.first().map(|page| page.id.as_str());
    let first_host = first_host(&log.entries, first_page);
    let host = first_host.filter(|_| !options.all_hosts);
    let mut left_out = LeftOut::default();
    let mut end = None;
    let mut imported = Imported::default();
    for (number, recorded) in (1..).zip(&log.entries) {
        let Some(url) = left_out.check(recorded, host.as_deref(), options.no_assets) else {
            continue;
        };
        let mut entry = entry::entry(recorded, &url)
            .map_err(|reason| format!("entry {number}, {url}: {reason}"))?;
        let delay = delay(recorded, &mut end);
        entry.options.delay = delay.filter(|_| options.think_time);
        let note = note_on_content(&entry.content, &recorded.request);
        let note = note.map(|note| format!("entry {number}, {url}: {note}"));
        imported.notes.extend(note);
        imported.entries.push(entry);
    }
    let told = left_out.told(log.entries.len());
    if imported.entries.is_empty() {
        let told = told.unwrap_or_default();
        return refuse(format!("no request is left: {told}"));
    }
    imported.notes.extend(told);
    Ok(imported)
}

fn first_host(entries: &[HarEntry], page: Option<&str>) -> Option<String> {
    let host = |recorded: &HarEntry| Url::parse(&recorded.request.url).ok().map(|url| url.host());
    let of_page = |recorded: &&HarEntry| page.is_some() && recorded.pageref.as_deref() == page;
    let mut paged = entries.iter().filter(of_page);
    paged
        .find_map(host)
        .or_else(|| entries.iter().find_map(host))
}

/// What a request sent and the recording does not contain.
fn note_on_content(content: &Content, request: &HarRequest) -> Option<String> {
    match content {
        Content::Multipart(parts) => {
            let is_file = |part: &Part| matches!(part, Part::File(..));
            parts.iter().any(is_file).then(|| {
                "the recording does not contain its files; put them beside the Hurl file".into()
            })
        }
        // Chromium leaves out bodies with files.
        Content::None => {
            let length = sent_length(request).filter(|length| *length > 0.0)?;
            Some(format!(
                "the recording does not contain its body of {length} bytes; add it to the Hurl file"
            ))
        }
        _ => None,
    }
}

/// How long the body was.
fn sent_length(request: &HarRequest) -> Option<f64> {
    let mut headers = request.headers.iter();
    let length = headers.find(|header| header.name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|header| header.value.trim().parse().ok());
    length.or(request.body_size)
}

#[derive(Default)]
struct LeftOut {
    other_schemes: usize,
    without_response: usize,
    other_hosts: usize,
    hosts: BTreeSet<String>,
    assets: usize,
}

impl LeftOut {
    /// The URL of an entry, or `None` if it is left out.
    fn check(&mut self, recorded: &HarEntry, host: Option<&str>, no_assets: bool) -> Option<Url> {
        let Ok(url) = Url::parse(&recorded.request.url) else {
            self.other_schemes += 1;
            return None;
        };
        let status = recorded.response.as_ref().map(|response| response.status);
        let own = url.host();
        if status.is_some_and(|status| !(200..=999).contains(&status)) {
            self.without_response += 1;
        } else if host.is_some_and(|host| host != own) {
            self.other_hosts += 1;
            self.hosts.insert(own);
        } else if no_assets && is_asset(recorded) {
            self.assets += 1;
        } else {
            return Some(url);
        }
        None
    }

    fn told(&self, of: usize) -> Option<String> {
        let hosts: Vec<&str> = self.hosts.iter().map(String::as_str).collect();
        let more = hosts.len().saturating_sub(MOST_HOSTS);
        let mut shown = hosts[..hosts.len() - more].join(", ");
        if more > 0 {
            shown.push_str(&format!(" and {more} more"));
        }
        let kinds = [
            (
                self.other_hosts,
                format!("to other hosts ({shown}; --all-hosts keeps them)"),
            ),
            (
                self.assets,
                "images, styles, fonts, scripts or media".into(),
            ),
            (
                self.other_schemes,
                "not over HTTP, such as ws: or data:".into(),
            ),
            (self.without_response, "without a response".into()),
        ];
        let total: usize = kinds.iter().map(|(count, _)| count).sum();
        let kinds: Vec<String> = kinds
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, kind)| format!("{count} {kind}"))
            .collect();
        (total > 0).then(|| format!("left out {total} of {of} requests: {}", kinds.join(", ")))
    }
}

/// How many hosts a note names.
const MOST_HOSTS: usize = 5;

/// Whether the response is a part of a page that a browser keeps.
fn is_asset(recorded: &HarEntry) -> bool {
    match recorded.resource_type.as_deref() {
        Some("image" | "stylesheet" | "font" | "script" | "media" | "texttrack") => return true,
        Some("document" | "xhr" | "fetch" | "eventsource" | "preflight" | "ping") => return false,
        _ => {}
    }
    let mime_type = recorded
        .response
        .as_ref()
        .map(|it| it.content.mime_type.as_str());
    let mime_type = mime_type.unwrap_or_default().to_ascii_lowercase();
    let essence = mime_type.split(';').next().unwrap_or_default().trim();
    let (kind, name) = essence.split_once('/').unwrap_or_default();
    matches!(kind, "image" | "font" | "audio" | "video")
        || name == "css"
        || name.ends_with("javascript")
        || name.ends_with("ecmascript")
        || name.starts_with("font-")
        || name.starts_with("x-font")
        || name == "vnd.ms-fontobject"
}

/// How long the user waited before a request, after all responses so far, of which `end` is the time. Entries without
/// times have none.
fn delay(recorded: &HarEntry, end: &mut Option<DateTime<FixedOffset>>) -> Option<Duration> {
    let start = recorded.started_date_time.as_deref()?;
    let start = DateTime::parse_from_rfc3339(start).ok()?;
    let took = recorded.time.filter(|time| time.is_finite() && *time > 0.0);
    let took = TimeDelta::try_milliseconds(took.unwrap_or_default() as i64);
    let waited = end.and_then(|last| (start - last).to_std().ok());
    *end = (*end).max(start.checked_add_signed(took.unwrap_or_default()));
    waited.filter(|waited| waited.as_millis() > 0)
}
