//! What is remembered of the last visit to a page, as one bounded text that goes wherever its record goes.
//!
//! Not when the next visit is (`recrawl`). Invariant: a validator is kept whole, as it was sent, or not at all: half of one
//! would never match again.

/// Longest validator that is kept, in bytes. Common ones have 20 to 40.
const MAX_VALIDATOR_BYTES: usize = 256;

/// What is remembered of a visit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Trace<'a> {
    /// The page was visited twice or more: its interval is learnt, and no hint counts against it.
    pub(crate) learnt: bool,
    pub(crate) digest: Option<u64>,
    pub(crate) etag: Option<&'a str>,
    pub(crate) last_modified: Option<&'a str>,
}

impl<'a> Trace<'a> {
    /// What a text says; a text that no [`Trace::text`] has made says less.
    pub(crate) fn parse(text: Option<&'a str>) -> Self {
        let mut parts = text.unwrap_or_default().split('\n');
        let first = parts.next().unwrap_or_default();
        let digest = first.strip_prefix('+').unwrap_or(first);
        let mut validator = || parts.next().filter(|text| !text.is_empty());
        Self {
            learnt: first.starts_with('+'),
            digest: u64::from_str_radix(digest, 16).ok(),
            etag: validator(),
            last_modified: validator(),
        }
    }

    /// As one text; `None` when there is nothing to remember.
    pub(crate) fn text(&self) -> Option<Box<str>> {
        let learnt = if self.learnt { "+" } else { "" };
        let digest = self.digest.map_or(String::new(), |digest| format!("{digest:016x}"));
        let (etag, last_modified) = (self.etag.unwrap_or_default(), self.last_modified.unwrap_or_default());
        let text = format!("{learnt}{digest}\n{etag}\n{last_modified}");
        let text = text.trim_end_matches('\n');
        (!text.is_empty()).then(|| text.into())
    }
}

/// A validator, if it can be kept.
pub(crate) fn kept(validator: Option<&str>) -> Option<&str> {
    let is_kept = |text: &&str| {
        !text.is_empty() && text.len() <= MAX_VALIDATOR_BYTES && text.bytes().all(|b| matches!(b, b' '..=b'~'))
    };
    validator.filter(is_kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let (etag, last_modified) = (Some("W/\"x y\""), Some("Thu, 01 Jan 1970 00:00:00 GMT"));
        for learnt in [false, true] {
            for digest in [None, Some(0), Some(u64::MAX)] {
                for etag in [None, etag] {
                    for last_modified in [None, last_modified] {
                        let trace = Trace { learnt, digest, etag, last_modified };
                        assert_eq!(Trace::parse(trace.text().as_deref()), trace);
                    }
                }
            }
        }
        assert_eq!(Trace::default().text(), None);
    }

    #[test]
    fn a_validator_that_is_too_long_or_no_plain_text_is_not_kept() {
        let longest = "x".repeat(MAX_VALIDATOR_BYTES);
        assert_eq!(kept(Some(&longest)), Some(&*longest));
        for bad in ["", "a\nb", "\u{e9}", "a\tb", &format!("{longest}x")] {
            assert_eq!(kept(Some(bad)), None, "{bad:?}");
        }
    }
}
