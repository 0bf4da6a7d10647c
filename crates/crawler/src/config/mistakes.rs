//! What is wrong with a config: every mistake with its place, as one report sorted by position.
//!
//! Not here: what counts as a mistake (`keys`, `section`, `load`).
//! Invariant: the report is bounded, and safe to print whatever the file holds (no control characters get through).

use std::cmp;
use std::fmt::{self, Write};
use std::ops::Range;

/// Mistakes shown; the rest is counted.
const MAX_SHOWN: usize = 100;
/// Characters of an offending line shown.
const MAX_LINE_CHARS: usize = 160;
/// Characters shown before the mistake where a line is longer than that.
const LEAD_CHARS: usize = 40;

/// Why a config was refused: all mistakes of file and options at once, at least one. `Display` is the report for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors {
    /// The first mistakes, the file's by position, then the options'.
    pub mistakes: Vec<Mistake>,
    /// How many more there are.
    pub more: usize,
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where it is.
    pub place: Place,
    /// What is wrong, in lower case, one line.
    pub message: String,
}

/// Where a mistake is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole: unreadable, too large.
    File {
        /// Name of the file, as given.
        file: String,
    },
    /// A part of a line.
    Line {
        /// Name of the file, as given.
        file: String,
        /// Number of the line, from 1.
        line: usize,
        /// Number of the character in the line, from 1.
        column: usize,
        /// The line, cut to a readable length, without control characters.
        text: String,
        /// Characters of `text` before the offending part.
        indent: usize,
        /// Length of the offending part in characters, at least 1.
        width: usize,
    },
    /// A `--set` option.
    Option {
        /// Its argument, as given.
        text: String,
    },
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.mistakes.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "{mistake}")?;
        }
        if self.more > 0 {
            write!(f, "\n\nand {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = printable(&self.message);
        match &self.place {
            Place::File { file } => write!(f, "{file}: {message}"),
            Place::Option { text } => write!(f, "--set {}: {message}", printable(text)),
            Place::Line { file, line, column, text, indent, width } => {
                let number = line.to_string();
                let gutter = " ".repeat(number.len());
                let (indent, caret) = (" ".repeat(*indent), "^".repeat(*width));
                writeln!(f, "{file}:{line}:{column}: {message}")?;
                writeln!(f, "{gutter} |")?;
                writeln!(f, "{number} | {text}")?;
                write!(f, "{gutter} | {indent}{caret}")
            }
        }
    }
}

/// Where a text came from.
#[derive(Debug)]
pub(super) enum Origin {
    /// A file of this name.
    File(String),
    /// A `--set` option with this argument.
    Set(String),
}

/// One text to be read as TOML.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) origin: Origin,
    pub(super) text: String,
}

/// A mistake while reading: its source by index, and its bytes there (none: the source as a whole).
#[derive(Debug)]
pub(super) struct Found {
    pub(super) source: usize,
    pub(super) span: Option<Range<usize>>,
    pub(super) message: String,
}

/// Makes the report.
pub(super) fn report(sources: &[Source], mut found: Vec<Found>) -> ConfigErrors {
    found.sort_by_key(|f| (f.source, f.span.as_ref().map(|span| (span.start, span.end))));
    let more = found.len().saturating_sub(MAX_SHOWN);
    found.truncate(MAX_SHOWN);
    let mistakes =
        found.into_iter().map(|f| Mistake { place: place(&sources[f.source], f.span), message: f.message }).collect();
    ConfigErrors { mistakes, more }
}

fn place(source: &Source, span: Option<Range<usize>>) -> Place {
    match (&source.origin, span) {
        (Origin::Set(text), _) => Place::Option { text: text.clone() },
        (Origin::File(file), None) => Place::File { file: file.clone() },
        (Origin::File(file), Some(span)) => line_place(file, &source.text, span),
    }
}

fn line_place(file: &str, text: &str, span: Range<usize>) -> Place {
    let start = text.floor_char_boundary(span.start);
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |n| start + n);
    let end = text.floor_char_boundary(span.end.clamp(start, line_end));
    let before = text[line_start..start].chars().count();
    let skipped = if before > MAX_LINE_CHARS / 2 { before - LEAD_CHARS } else { 0 };
    let shown: String = text[line_start..line_end].chars().skip(skipped).take(MAX_LINE_CHARS).collect();
    let shown = shown.trim_end();
    let indent = before - skipped;
    let room = shown.chars().count().saturating_sub(indent);
    Place::Line {
        file: file.to_owned(),
        line: text[..start].matches('\n').count() + 1,
        column: before + 1,
        text: printable(shown),
        indent,
        width: cmp::max(1, cmp::min(room, text[start..end].chars().count())),
    }
}

/// The text with one harmless character for each control character.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push(' '),
            c if c.is_control() => out.push('\u{fffd}'),
            c => write!(out, "{c}").expect("writing to a string cannot fail"),
        }
    }
    out
}
