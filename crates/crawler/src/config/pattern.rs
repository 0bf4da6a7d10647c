//! A regular expression of the config, compiled.
//!
//! Not here: what a match means ([`crate::scope`]). Invariant: matching is linear in the text (the `regex` crate has no
//! backtracking) and a compiled pattern's memory is bounded.

use regex::{Regex, RegexBuilder};
use serde::{Serialize, Serializer};

/// Memory that one compiled pattern may take; above it the config is refused.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// A compiled pattern that knows its source text. Two are equal when their texts are.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// Compiles `text`; the error says in one line what is wrong with it.
    pub fn new(text: &str) -> Result<Pattern, String> {
        RegexBuilder::new(text).size_limit(MAX_COMPILED_BYTES).build().map(Pattern).map_err(|error| match error {
            // The long form draws the pattern over several lines; the report draws the line already.
            regex::Error::Syntax(drawing) => last_line(&drawing).to_owned(),
            regex::Error::CompiledTooBig(limit) => {
                format!("the compiled pattern needs more than {limit} bytes")
            }
            other => other.to_string(),
        })
    }

    /// Does the pattern match anywhere in `text`? (Anchor with `^` and `$` for more.)
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// The text it was compiled from.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

fn last_line(drawing: &str) -> &str {
    let line = drawing.trim_end().lines().next_back().unwrap_or(drawing);
    line.strip_prefix("error: ").unwrap_or(line)
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
