//! An entry that is not complete yet.
//!
//! Not what its elements are called (`place`). Invariant: a field is kept only if it was read whole and is within its
//! bounds; an entry whose URL is not is counted as invalid, never taken for another URL.

use super::super::{End, Entry, MAX_HINT_BYTES, Settings, Sitemap, is_blank};

/// What an element says of its entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Url,
    /// What may stand in for a URL.
    Guid,
    Changed,
    /// When it was published: a change if nothing else is said.
    Published,
    Frequency,
    Priority,
}

/// The text of an element.
#[derive(Debug, Default)]
pub(super) struct Value {
    text: String,
    /// It has an entity that stands for nothing, or is too long.
    is_spoilt: bool,
}

impl Value {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && !self.is_spoilt
    }

    pub(super) fn spoil(&mut self) {
        self.is_spoilt = true;
    }

    /// Adds text; white space only where something stands before it.
    pub(super) fn push(&mut self, text: &str, settings: &Settings) {
        let text = if self.text.is_empty() { text.trim_start_matches(is_blank) } else { text };
        let within = settings.max_url_bytes.max(MAX_HINT_BYTES);
        let text = if self.text.len() + text.len() > within { text.trim_end_matches(is_blank) } else { text };
        if self.text.len() + text.len() > within {
            self.is_spoilt = true;
        } else {
            self.text.push_str(text);
        }
    }

    fn whole(&self, most_bytes: usize) -> Option<String> {
        let text = self.text.trim_matches(is_blank);
        (!self.is_spoilt && !text.is_empty() && text.len() <= most_bytes).then(|| text.to_owned())
    }
}

/// An entry so far.
#[derive(Debug, Default)]
pub(super) struct Draft {
    entry: Entry,
    guid: Option<String>,
    published: Option<String>,
    /// It has an element for its URL.
    has_url: bool,
}

impl Draft {
    /// Whether it has an element for its URL.
    pub(super) fn has_url(&self) -> bool {
        self.has_url
    }

    /// Takes in a field. Of a field that comes twice the first counts.
    pub(super) fn set(&mut self, field: Field, value: &Value, settings: &Settings) {
        let hint = || value.whole(MAX_HINT_BYTES);
        match field {
            Field::Url => {
                if !self.has_url {
                    self.entry.url = value.whole(settings.max_url_bytes).unwrap_or_default();
                }
                self.has_url = true;
            }
            Field::Guid => self.guid = self.guid.take().or_else(|| value.whole(settings.max_url_bytes)),
            Field::Changed => self.entry.lastmod = self.entry.lastmod.take().or_else(hint),
            Field::Published => self.published = self.published.take().or_else(hint),
            Field::Frequency => self.entry.changefreq = self.entry.changefreq.take().or_else(hint),
            Field::Priority => self.entry.priority = self.entry.priority.take().or_else(hint),
        }
    }

    /// Ends the entry. An item of a feed that leads nowhere is none.
    pub(super) fn end(self, sitemap: &mut Sitemap, settings: &Settings) -> Result<(), End> {
        let Draft { mut entry, guid, published, has_url } = self;
        let is_url = |text: &String| text.starts_with("http://") || text.starts_with("https://");
        if entry.url.is_empty() && !has_url {
            entry.url = guid.filter(is_url).unwrap_or_default();
        }
        entry.lastmod = entry.lastmod.or(published);
        if !entry.url.is_empty() {
            return sitemap.add(entry, settings);
        }
        sitemap.invalid += u64::from(has_url);
        Ok(())
    }
}
