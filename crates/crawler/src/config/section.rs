//! Reads one TOML table key by key into typed fields, and notes every mistake instead of stopping at the first.
//!
//! Not here: which keys there are (`keys`). Invariant: a field is only ever written with a value that passed its check;
//! after a mistake it keeps what it had.

use std::collections::HashMap;
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::mistakes::Found;

/// What reading the sources has brought up so far.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Index of the source being read.
    pub(super) source: usize,
    /// All mistakes.
    pub(super) found: Vec<Found>,
    /// Where each key (`section.key`) was set last: source and bytes.
    pub(super) set_at: HashMap<String, (usize, Range<usize>)>,
}

impl Log {
    /// Notes a mistake in the source being read.
    pub(super) fn mistake(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.found.push(Found { source: self.source, span: Some(span), message: message.into() });
    }
}

/// A table being read.
pub(super) struct Section<'r> {
    name: &'static str,
    entries: &'r DeTable<'r>,
    asked: Vec<&'static str>,
    log: &'r mut Log,
}

impl<'r> Section<'r> {
    /// Reads `entries` with `read`, then reports every key that `read` did not ask for. `name` is what messages call
    /// the table; empty for the root.
    pub(super) fn read(name: &'static str, entries: &DeTable<'_>, log: &mut Log, read: impl FnOnce(&mut Section<'_>)) {
        let mut section = Section { name, entries, asked: Vec::new(), log };
        read(&mut section);
        section.report_unknown();
    }

    fn report_unknown(self) {
        for key in self.entries.keys() {
            let name = key.get_ref().as_ref();
            if self.asked.contains(&name) {
                continue;
            }
            let known = self.asked.join(", ");
            let message = match self.name {
                "" => format!("unknown key {name:?}; the sections are {known}"),
                section => format!("unknown key {name:?}; the keys of {section} are {known}"),
            };
            self.log.mistake(key.span(), message);
        }
    }

    /// The value of `key`, if it is set.
    pub(super) fn take(&mut self, key: &'static str) -> Option<&'r Spanned<DeValue<'r>>> {
        self.asked.push(key);
        let value = self.entries.get(key)?;
        let path = format!("{}.{key}", self.name);
        self.log.set_at.insert(path, (self.log.source, value.span()));
        Some(value)
    }

    /// Is `key` set, with whatever value?
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Notes a mistake in this table's source.
    pub(super) fn mistake(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.log.mistake(span, message);
    }

    /// Notes that `value` is not of the type `expected`.
    pub(super) fn wrong_type(&mut self, value: &Spanned<DeValue<'_>>, expected: impl Display) {
        let found = describe(value.get_ref());
        self.mistake(value.span(), format!("expected {expected}, found {found}"));
    }

    /// Reads a table inside this one, under the name `key`.
    pub(super) fn table(&mut self, key: &'static str, read: impl FnOnce(&mut Section<'_>)) {
        let Some(value) = self.take(key) else { return };
        match value.get_ref() {
            DeValue::Table(entries) => Section::read(key, entries, self.log, read),
            _ => self.wrong_type(value, "a table"),
        }
    }

    /// Reads one element of an array as a table; messages call it `name`.
    pub(super) fn element(
        &mut self,
        name: &'static str,
        value: &Spanned<DeValue<'_>>,
        read: impl FnOnce(&mut Section<'_>),
    ) {
        match value.get_ref() {
            DeValue::Table(entries) => Section::read(name, entries, self.log, read),
            _ => self.wrong_type(value, "a table"),
        }
    }

    /// Reads a boolean.
    pub(super) fn boolean(&mut self, key: &'static str, out: &mut bool) {
        let Some(value) = self.take(key) else { return };
        match value.get_ref() {
            DeValue::Boolean(read) => *out = *read,
            _ => self.wrong_type(value, "true or false"),
        }
    }

    /// Reads an integer in `range`, which must fit into `T`.
    pub(super) fn integer<T>(&mut self, key: &'static str, range: RangeInclusive<u64>, out: &mut T)
    where
        T: TryFrom<u64>,
    {
        let Some(value) = self.take(key) else { return };
        let DeValue::Integer(digits) = value.get_ref() else {
            return self.wrong_type(value, "an integer");
        };
        let number = i128::from_str_radix(digits.as_str(), digits.radix()).ok();
        let number = number.and_then(|number| u64::try_from(number).ok());
        match number.filter(|number| range.contains(number)) {
            Some(number) => {
                *out = T::try_from(number).unwrap_or_else(|_| unreachable!("the range of {key} is inside its type"));
            }
            None => {
                let (low, high) = range.into_inner();
                self.mistake(value.span(), format!("must be {low} to {high}, found {digits}"));
            }
        }
    }

    /// Reads a float (an integer will do) in `range`.
    pub(super) fn float(&mut self, key: &'static str, range: RangeInclusive<f64>, out: &mut f64) {
        let Some(value) = self.take(key) else { return };
        let text = match value.get_ref() {
            DeValue::Float(float) => float.as_str().to_owned(),
            DeValue::Integer(integer) => integer.to_string(),
            _ => return self.wrong_type(value, "a number"),
        };
        match text.parse() {
            Ok(number) if range.contains(&number) => *out = number,
            _ => {
                let (low, high) = range.into_inner();
                self.mistake(value.span(), format!("must be {low} to {high}, found {text}"));
            }
        }
    }

    /// Reads a string and what `check` makes of it.
    pub(super) fn text<T>(&mut self, key: &'static str, check: impl FnOnce(&str) -> Result<T, String>, out: &mut T) {
        let Some(value) = self.take(key) else { return };
        if let Some(read) = self.string(value, check) {
            *out = read;
        }
    }

    /// Reads a list of strings and what `check` makes of each; the list replaces the one before.
    pub(super) fn texts<T>(&mut self, key: &'static str, check: impl Fn(&str) -> Result<T, String>, out: &mut Vec<T>) {
        let Some(value) = self.take(key) else { return };
        let DeValue::Array(elements) = value.get_ref() else {
            return self.wrong_type(value, "a list of strings");
        };
        *out = elements.iter().filter_map(|element| self.string(element, &check)).collect();
    }

    /// What `check` makes of a string value.
    pub(super) fn string<T>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        check: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let DeValue::String(text) = value.get_ref() else {
            self.wrong_type(value, "a string");
            return None;
        };
        check(text).map_err(|message| self.mistake(value.span(), message)).ok()
    }
}

/// The value's type with its article, and the value itself where it is short.
fn describe(value: &DeValue<'_>) -> String {
    const MAX_QUOTED_BYTES: usize = 40;
    match value {
        DeValue::String(text) if text.len() <= MAX_QUOTED_BYTES => format!("the string {text:?}"),
        DeValue::String(_) => "a string".to_owned(),
        DeValue::Integer(number) => format!("the integer {number}"),
        DeValue::Float(number) => format!("the float {number}"),
        DeValue::Boolean(value) => format!("the boolean {value}"),
        DeValue::Datetime(_) => "a date or time".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
