//! Reads the seeds: URLs given on the command line and in seeds files.
//!
//! A seeds file holds one URL a line; blank lines and lines that start with `#` are skipped, space around a URL is
//! ignored, a byte order mark and CRLF are tolerated.
//!
//! Not here: scope, dedup, anything that happens to a seed after it was read.
//! Invariant: either every line was understood or nothing is returned; memory is bounded by the number of good seeds
//! times the URL limit, whatever the file holds.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use url::Url;

/// Mistakes shown; the rest is counted.
const MAX_SHOWN: usize = 100;
/// Characters of a bad line shown.
const MAX_TEXT_CHARS: usize = 120;

/// A URL to start from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed {
    /// http or https, parsed. Its fragment is still there.
    pub url: Url,
    /// Who named it.
    pub source: SeedSource,
}

/// Where a seed was named. `Display` gives `file:line` or `argument N`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeedSource {
    /// On a line of a file.
    Line {
        /// The file.
        file: Arc<Path>,
        /// The line, from 1.
        line: u64,
    },
    /// On the command line.
    Argument {
        /// Its place among the URLs there, from 1.
        position: usize,
    },
}

impl fmt::Display for SeedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SeedSource::Line { file, line } => write!(f, "{}:{line}", file.display()),
            SeedSource::Argument { position } => write!(f, "argument {position}"),
        }
    }
}

/// Why the seeds were refused: all bad lines at once. `Display` is the report for the user.
#[derive(Debug, Default)]
pub struct SeedErrors {
    /// One line of text for each mistake, with its place, in reading order.
    pub mistakes: Vec<String>,
    /// How many more there are.
    pub more: usize,
}

impl SeedErrors {
    fn push(&mut self, mistake: String) {
        if self.mistakes.len() < MAX_SHOWN {
            self.mistakes.push(mistake);
        } else {
            self.more += 1;
        }
    }

    fn is_empty(&self) -> bool {
        self.mistakes.is_empty()
    }
}

impl fmt::Display for SeedErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.mistakes.join("\n"))?;
        if self.more > 0 {
            write!(f, "\nand {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for SeedErrors {}

/// Reads all seeds, those of the files first, in order; repeats are kept. A URL longer than `max_url_bytes` is a mistake.
///
/// # Errors
/// Every unreadable file and every bad line or argument, all of them at once.
pub fn read(files: &[PathBuf], arguments: &[String], max_url_bytes: usize) -> Result<Vec<Seed>, SeedErrors> {
    let mut seeds = Vec::new();
    let mut errors = SeedErrors::default();
    for path in files {
        let read = File::open(path)
            .and_then(|file| read_lines(BufReader::new(file), path, max_url_bytes, &mut seeds, &mut errors));
        if let Err(error) = read {
            errors.push(format!("{}: cannot be read: {error}", path.display()));
        }
    }
    for (index, text) in arguments.iter().enumerate() {
        let source = SeedSource::Argument { position: index + 1 };
        add(text.trim(), source, max_url_bytes, &mut seeds, &mut errors);
    }
    if errors.is_empty() { Ok(seeds) } else { Err(errors) }
}

fn read_lines(
    mut reader: impl BufRead,
    path: &Path,
    max_url_bytes: usize,
    seeds: &mut Vec<Seed>,
    errors: &mut SeedErrors,
) -> io::Result<()> {
    let file: Arc<Path> = Arc::from(path);
    // A little more than a URL, for line break, mark and space; a line beyond it is cut, and then too long as a URL.
    let max_line_bytes = max_url_bytes as u64 + 64;
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        if reader.by_ref().take(max_line_bytes).read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        if bytes.last() != Some(&b'\n') {
            reader.skip_until(b'\n')?;
        }
        let content = bytes.strip_prefix(b"\xef\xbb\xbf").filter(|_| line == 1);
        let content = content.unwrap_or(&bytes).trim_ascii();
        if content.is_empty() || content.starts_with(b"#") {
            continue;
        }
        let source = SeedSource::Line { file: Arc::clone(&file), line };
        // A cut line may end inside a character, so only a line of bearable length is asked for its encoding.
        match std::str::from_utf8(content) {
            Err(_) if content.len() <= max_url_bytes => errors.push(format!("{source}: not UTF-8")),
            _ => add(&String::from_utf8_lossy(content), source, max_url_bytes, seeds, errors),
        }
    }
    Ok(())
}

/// Adds one seed, or the mistake in it.
fn add(text: &str, source: SeedSource, max_url_bytes: usize, seeds: &mut Vec<Seed>, errors: &mut SeedErrors) {
    match parse(text, max_url_bytes) {
        Ok(url) => seeds.push(Seed { url, source }),
        Err(why) => errors.push(format!("{source}: {why}: {}", excerpt(text))),
    }
}

fn parse(text: &str, max_url_bytes: usize) -> Result<Url, String> {
    let too_long = || Err(format!("longer than extract.max_url_bytes ({max_url_bytes})"));
    if text.len() > max_url_bytes {
        return too_long();
    }
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(url::ParseError::RelativeUrlWithoutBase) => {
            return Err("no scheme, write https:// or http:// before it".to_owned());
        }
        Err(error) => return Err(error.to_string()),
    };
    match url.scheme() {
        "http" | "https" if url.as_str().len() > max_url_bytes => too_long(),
        "http" | "https" => Ok(url),
        // "example.org:80/x" parses as one of these
        _ => Err("scheme is neither http nor https".to_owned()),
    }
}

/// The start of the text, quoted, without control characters.
fn excerpt(text: &str) -> String {
    let end = text.char_indices().nth(MAX_TEXT_CHARS);
    let mark = if end.is_some() { "…" } else { "" };
    format!("{:?}{mark}", &text[..end.map_or(text.len(), |(end, _)| end)])
}

#[cfg(test)]
mod tests;
