//! From what the user wrote (a file, `--set` options) to a validated [`Config`], or to all mistakes at once.
//!
//! Not here: the keys (`keys`), the reading of one table (`section`), the report (`mistakes`).
//! Invariant: there is no implicit file; what is not given comes from [`Config::default`]. Options win over the file,
//! later ones over earlier ones.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::keys;
use super::mistakes::{ConfigErrors, Found, Origin, Source, report};
use super::recrawl;
use super::section::Log;
use super::{Config, Mode};

/// Size of a config file above which it is taken for something else.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Memory of a partition below which nearly every page would start a merge.
const MIN_RECENT_BYTES_PER_PARTITION: u64 = 4096;

/// Loads the file, if one is named, over the defaults and the `--set` options over both.
///
/// An option is `KEY=VALUE` with a dotted key (`politeness.delay_ms=0`); the value is TOML, and a bare word that is not
/// TOML is taken as a string (`scope.mode=any`). A list replaces the earlier list; entries of `fetch.resolve` add to
/// the earlier ones.
///
/// # Errors
/// All mistakes of file and options: unreadable or not UTF-8, syntax, unknown keys, wrong types, values that the program
/// cannot run on.
pub fn load(path: Option<&Path>, sets: &[String]) -> Result<Config, ConfigErrors> {
    let mut config = Config::default();
    let mut log = Log::default();
    let mut sources = Vec::new();
    if let Some(path) = path {
        sources.push(file_source(path, &mut log));
    }
    for text in sets {
        log.source = sources.len();
        sources.push(option_source(text, &mut log));
    }
    for (index, source) in sources.iter().enumerate() {
        log.source = index;
        read(&source.text, &mut config, &mut log);
    }
    // Beside a mistake a key still has its old value, and comparing that would accuse the wrong key.
    if log.found.is_empty() {
        check_together(&config, &mut log);
    }
    if log.found.is_empty() { Ok(config) } else { Err(report(&sources, log.found)) }
}

/// The file's text; empty, with a mistake noted, if it cannot be used.
fn file_source(path: &Path, log: &mut Log) -> Source {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
    let mut source = Source { origin: Origin::File(path.display().to_string()), text: String::new() };
    match read {
        Err(error) => log.found.push(whole(log.source, format!("cannot be read: {error}"))),
        Ok(_) if bytes.len() as u64 > MAX_FILE_BYTES => {
            let message = format!("larger than {MAX_FILE_BYTES} bytes: not a config file");
            log.found.push(whole(log.source, message));
        }
        Ok(_) => source.text = decode(bytes, log),
    }
    source
}

fn whole(source: usize, message: String) -> Found {
    Found { source, span: None, message }
}

/// The text without a byte order mark. Bytes that are not UTF-8 are noted as a mistake and replaced.
fn decode(mut bytes: Vec<u8>, log: &mut Log) -> String {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let at = error.utf8_error().valid_up_to();
        log.mistake(at..at + 1, "not UTF-8");
        String::from_utf8_lossy(error.as_bytes()).into_owned()
    })
}

/// The option as a TOML line; empty, with a mistake noted, if it cannot be one.
fn option_source(text: &str, log: &mut Log) -> Source {
    let line = match text.split_once('=') {
        None => Err("expected KEY=VALUE, as in politeness.delay_ms=0".to_owned()),
        // These would make a comment, a table or a second line out of the key.
        Some((key, _)) if key.trim().is_empty() || key.contains(['#', '[', '\n', '\r']) => {
            Err(format!("{key:?} is not a key"))
        }
        Some((key, value)) => Ok(format!("{} = {}", key.trim(), toml_value(value.trim()))),
    };
    Source {
        origin: Origin::Set(text.to_owned()),
        text: line.unwrap_or_else(|message| {
            log.found.push(whole(log.source, message));
            String::new()
        }),
    }
}

/// The value as it is, if it is TOML or is meant to be (a quote is open); else as a string. So `[::1]:80` is a string,
/// and a list that is not closed is one that the key's type then refuses.
fn toml_value(value: &str) -> String {
    let meant_as_toml = value.is_empty() || value.starts_with(['"', '\'']);
    if meant_as_toml || DeValue::parse(value).is_ok() { value.to_owned() } else { toml::Value::from(value).to_string() }
}

/// Reads one document into the config: syntax errors and all other mistakes.
fn read(text: &str, config: &mut Config, log: &mut Log) {
    let (document, mut errors) = DeTable::parse_recoverable(text);
    let before = log.found.len();
    keys::apply(document.get_ref(), config, log);
    if errors.is_empty() {
        return;
    }
    let line_ends: Vec<usize> = text.match_indices('\n').map(|(end, _)| end).collect();
    let line_of = |span: Option<&Range<usize>>| {
        let start = span.map_or(0, |span| span.start);
        line_ends.partition_point(|&end| end < start)
    };
    // The first error on a line is the user's; further ones are mostly the parser's confusion about it, and so are
    // mistakes in the values that it made of the line.
    let mut broken = HashSet::new();
    errors.retain(|error| broken.insert(line_of(error.span().as_ref())));
    let mut read = log.found.split_off(before);
    read.retain(|found| !broken.contains(&line_of(found.span.as_ref())));
    log.found.append(&mut read);
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        log.mistake(span, error.message().trim_end_matches(", expected nothing"));
    }
}

/// What single values cannot show: keys that contradict each other. Noted where one of the two was set last.
fn check_together(config: &Config, log: &mut Log) {
    let politeness = &config.politeness;
    if politeness.retry_delay_secs > politeness.max_retry_delay_secs {
        contradiction(
            log,
            ["politeness.retry_delay_secs", "politeness.max_retry_delay_secs"],
            format!(
                "retry_delay_secs ({}) is above max_retry_delay_secs ({})",
                politeness.retry_delay_secs, politeness.max_retry_delay_secs
            ),
        );
    }
    let frontier = &config.frontier;
    if frontier.recent_bytes / u64::from(frontier.partitions) < MIN_RECENT_BYTES_PER_PARTITION {
        contradiction(
            log,
            ["frontier.recent_bytes", "frontier.partitions"],
            format!(
                "recent_bytes ({}) leaves less than {MIN_RECENT_BYTES_PER_PARTITION} bytes for each of {} partitions",
                frontier.recent_bytes, frontier.partitions
            ),
        );
    }
    if let Some((keys, message)) = recrawl::contradiction(config) {
        contradiction(log, keys, message);
    }
    if config.scope.mode == Mode::Any && !config.scope.include.is_empty() {
        contradiction(
            log,
            ["scope.include", "scope.mode"],
            "include adds to what mode admits, and mode \"any\" admits everything".to_owned(),
        );
    }
}

fn contradiction(log: &mut Log, keys: [&str; 2], message: String) {
    let place = keys.iter().filter_map(|key| log.set_at.get(*key)).max_by_key(|(source, span)| (*source, span.start));
    let (source, span) = place.cloned().expect("the defaults do not contradict each other, so one of the keys was set");
    log.found.push(Found { source, span: Some(span), message });
}
