//! A text sitemap: a URL a line.
//!
//! Not a judgement of URLs beyond the first: if that one is none, neither is this a sitemap. Invariant: of a line no more
//! is kept than a URL may have.

use super::{End, Entry, Format, Settings, Sitemap, is_blank};

/// What a URL begins with.
const SCHEMES: [&str; 2] = ["http://", "https://"];

/// The lines so far.
#[derive(Default)]
pub(super) struct Lines {
    /// The line that has not ended yet.
    line: String,
    is_too_long: bool,
}

impl Lines {
    /// Takes the next piece of the text.
    pub(super) fn write(&mut self, text: &str, sitemap: &mut Sitemap, settings: &Settings) -> Result<(), End> {
        let mut pieces = text.split(['\n', '\r']);
        self.extend(pieces.next().unwrap_or_default(), settings);
        for piece in pieces {
            self.finish(sitemap, settings)?;
            self.extend(piece, settings);
        }
        Ok(())
    }

    fn extend(&mut self, piece: &str, settings: &Settings) {
        let most = settings.max_url_bytes;
        let piece = if self.line.is_empty() { piece.trim_start_matches(is_blank) } else { piece };
        // White space around a URL does not count, nor is it kept without end.
        let kept = if self.line.len() + piece.len() > most { piece.trim_end_matches(is_blank) } else { piece };
        if !self.is_too_long && self.line.len() + kept.len() > most {
            self.is_too_long = true;
            // What the first line of all begins with still counts.
            self.line.extend(kept.chars().take(SCHEMES[1].len()));
        } else if !self.is_too_long {
            self.line.push_str(kept);
        }
    }

    /// Ends the line.
    pub(super) fn finish(&mut self, sitemap: &mut Sitemap, settings: &Settings) -> Result<(), End> {
        let line = std::mem::take(&mut self.line);
        let (url, is_too_long) = (line.trim_matches(is_blank), std::mem::take(&mut self.is_too_long));
        if url.is_empty() && !is_too_long {
            return Ok(());
        }
        if sitemap.format.is_none() {
            let is_url = SCHEMES
                .iter()
                .any(|scheme| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
            if !is_url {
                return Err(End::NotASitemap);
            }
            sitemap.format = Some(Format::Text);
        }
        if is_too_long {
            sitemap.invalid += 1;
            return Ok(());
        }
        sitemap.add(Entry { url: url.to_owned(), ..Entry::default() }, settings)
    }
}
