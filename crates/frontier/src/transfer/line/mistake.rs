//! What is wrong with a line that was not understood, in words for whoever has written it.
//!
//! Not the check: a line is looked at here when it has been refused. Invariant: there is always an answer, it is short
//! whatever the line, and no control character of the line is in it.

use serde_json::{Map, Value};

/// Longest piece of a line that is told, in bytes.
const MAX_EXCERPT_BYTES: usize = 60;

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// A text that must be there.
    Text,
    /// A text that may be left out.
    MayText,
    /// A whole number from 0 to this one, that must be there.
    Count(u64),
    /// One that may be left out.
    MayCount(u64),
    /// An HTTP status or negative code.
    Status,
    /// `true` or `false`.
    Flag,
}

/// A kind of line: what it is called, and its fields.
pub(super) struct Shape {
    name: &'static str,
    fields: &'static [(&'static str, Kind)],
    /// Others are not looked at.
    others: bool,
}

use Kind::{Count, Flag, MayCount, MayText, Status, Text};

pub(super) const FIRST: Shape =
    Shape { name: "it", fields: &[("format", Text), ("version", Count(u32::MAX as u64))], others: true };
pub(super) const ANY: Shape = Shape { name: "a line", fields: &[], others: true };
pub(super) const HOST: Shape = Shape {
    name: "a host",
    fields: &[
        ("host", Text),
        ("next_slot_ms", MayCount(u64::MAX)),
        ("delay_ms", Count(u64::MAX)),
        ("failures", MayCount(u16::MAX as u64)),
        ("blocked_until_ms", MayCount(u64::MAX)),
        ("blocked_by", MayText),
        ("granted", MayCount(u32::MAX as u64)),
        ("lifted", Flag),
        ("growth", MayText),
    ],
    others: false,
};
pub(super) const ROBOTS: Shape = Shape {
    name: "a robots.txt",
    fields: &[
        ("robots", Text),
        ("fetched_ms", Count(u64::MAX)),
        ("etag", MayText),
        ("last_modified", MayText),
        ("unreachable_since_ms", MayCount(u64::MAX)),
        ("max_age_secs", MayCount(u32::MAX as u64)),
        ("text", MayText),
    ],
    others: false,
};
pub(super) const URL: Shape = Shape {
    name: "a URL",
    fields: &[
        ("url", Text),
        ("state", Text),
        ("status", Status),
        ("depth", MayCount(u16::MAX as u64)),
        ("attempts", MayCount(u8::MAX as u64)),
        ("starts", MayCount(u8::MAX as u64)),
        ("first_seen_secs", Count(u32::MAX as u64)),
        ("due_secs", MayCount(u32::MAX as u64)),
        ("interval_secs", MayCount(u32::MAX as u64)),
        ("interval_learnt", Flag),
        ("digest", MayText),
        ("etag", MayText),
        ("last_modified", MayText),
        ("referrer", MayText),
        ("priority", MayCount(u8::MAX as u64)),
        ("sitemap_level", MayCount(u8::MAX as u64)),
    ],
    others: false,
};
pub(super) const END: Shape = Shape {
    name: "the counts",
    fields: &[
        ("hosts", Count(u64::MAX)),
        ("robots", MayCount(u64::MAX)),
        ("queued", Count(u64::MAX)),
        ("fetched", Count(u64::MAX)),
        ("failed", Count(u64::MAX)),
        ("robots_denied", Count(u64::MAX)),
        ("excluded", Count(u64::MAX)),
        ("imported_seen", Count(u64::MAX)),
        ("parked", MayCount(u64::MAX)),
    ],
    others: false,
};

impl Kind {
    fn takes(self, value: &Value) -> bool {
        match self {
            Text => value.is_string(),
            MayText => value.is_string() || value.is_null(),
            Count(most) | MayCount(most) => value.as_u64().is_some_and(|n| n <= most),
            Status => value.as_i64().is_some_and(|n| i16::try_from(n).is_ok()),
            Flag => value.is_boolean(),
        }
    }

    fn in_words(self) -> String {
        match self {
            Text | MayText => "a text".to_owned(),
            Count(most) | MayCount(most) => format!("a whole number from 0 to {most}"),
            Status => "an HTTP status or a negative failure code".to_owned(),
            Flag => "true or false".to_owned(),
        }
    }
}

/// What is wrong with a line that should have had this shape.
pub(super) fn of(line: &[u8], shape: &Shape) -> String {
    let line = line.trim_ascii();
    if line.is_empty() {
        return "an empty line".to_owned();
    }
    if let Err(error) = std::str::from_utf8(line) {
        return format!("not UTF-8 at byte {}", error.valid_up_to() + 1);
    }
    match serde_json::from_slice(line) {
        Ok(Value::Object(fields)) => match (shape.name == END.name, fields.get("end")) {
            (true, Some(Value::Object(counts))) => of_fields(counts, shape),
            (true, _) => "end holds no counts".to_owned(),
            (false, _) => of_fields(&fields, shape),
        },
        Ok(_) => "not a JSON object".to_owned(),
        Err(error) if error.is_eof() => "cut off in the middle of its JSON".to_owned(),
        Err(error) => format!("not JSON at column {}", error.column()),
    }
}

fn of_fields(fields: &Map<String, Value>, shape: &Shape) -> String {
    let kind = |name: &str| shape.fields.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
    for (name, value) in fields {
        match kind(name) {
            Some(kind) if !kind.takes(value) => {
                return format!("{name} is {}, not {}", excerpt(value), kind.in_words());
            }
            None if !shape.others => {
                return format!("{} is no field of {}", excerpt(&name.as_str().into()), shape.name);
            }
            _ => {}
        }
    }
    let needed = shape.fields.iter().filter(|(_, kind)| matches!(kind, Text | Count(_)));
    match needed.map(|(name, _)| *name).find(|name| !fields.contains_key(*name)) {
        Some(name) => format!("{name} is missing from {}", shape.name),
        None => "a field stands twice in it".to_owned(),
    }
}

fn excerpt(value: &Value) -> String {
    let text = match value {
        Value::String(text) => format!("{text:?}"),
        value => value.to_string().escape_debug().to_string().replace("\\\"", "\""),
    };
    if text.len() <= MAX_EXCERPT_BYTES {
        return text;
    }
    format!("{}…", &text[..text.floor_char_boundary(MAX_EXCERPT_BYTES)])
}

#[cfg(test)]
mod tests {
    use super::super::{HostLine, RobotsLine, Totals, UrlLine};
    use super::*;

    /// Names of the fields that serde knows, by what it says of one that it does not know.
    fn known<'de, T: serde::Deserialize<'de> + std::fmt::Debug>() -> Vec<String> {
        let said = serde_json::from_str::<T>(r#"{"-":1}"#).expect_err("no such field").to_string();
        said.split('`').skip(3).step_by(2).map(str::to_owned).collect()
    }

    #[test]
    fn the_fields_are_those_that_are_read() {
        let names = |shape: &Shape| shape.fields.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&HOST), known::<HostLine<'_>>());
        assert_eq!(names(&ROBOTS), known::<RobotsLine<'_>>());
        assert_eq!(names(&URL), known::<UrlLine<'_>>());
        assert_eq!(names(&END), known::<Totals>());
    }

    #[test]
    fn each_mistake_has_words_of_its_own() {
        let long = format!(r#"{{"host":["{}"],"delay_ms":1}}"#, "x".repeat(10_000));
        for (line, shape, said) in [
            ("", &ANY, "an empty line"),
            ("nonsense\n", &ANY, "not JSON at column 2"),
            ("[1]", &ANY, "not a JSON object"),
            (r#"{"url":"a"#, &ANY, "cut off in the middle of its JSON"),
            (r#"{"version":1}"#, &FIRST, "format is missing from it"),
            (
                r#"{"format":"x","version":-1,"more":[]}"#,
                &FIRST,
                "version is -1, not a whole number from 0 to 4294967295",
            ),
            (
                r#"{"host":"a","delay_ms":"1"}"#,
                &HOST,
                r#"delay_ms is "1", not a whole number from 0 to 18446744073709551615"#,
            ),
            (r#"{"host":"a","delay_ms":1,"lifted":1}"#, &HOST, "lifted is 1, not true or false"),
            (r#"{"url":"a","status":40000}"#, &URL, "status is 40000, not an HTTP status or a negative failure code"),
            (r#"{"url":null}"#, &URL, "url is null, not a text"),
            (r#"{"url":"a","\u001b[2J":1}"#, &URL, r#""\u{1b}[2J" is no field of a URL"#),
            (r#"{"url":"a","url":"b","state":"fetched","first_seen_secs":1}"#, &URL, "a field stands twice in it"),
            (r#"{"end":7}"#, &END, "end holds no counts"),
            (r#"{"end":{"hosts":1}}"#, &END, "queued is missing from the counts"),
        ] {
            assert_eq!(of(line.as_bytes(), shape), said, "{line}");
        }
        assert_eq!(of(b"{\"host\":\"\xff\"}", &HOST), "not UTF-8 at byte 10");
        assert!(of(long.as_bytes(), &HOST).len() < 100);
    }
}
