//! URLs on their way to a running daemon, as many as one line of the control socket holds.

use frontier::Canonical;

use crate::control::MAX_LINE_BYTES;

/// Bytes of a request beside its URLs, and of one URL more.
const RESERVE: usize = 4096 + 2 * frontier::canonical::MAX_URL_BYTES;

/// URLs of one request.
#[derive(Debug, Default)]
pub(crate) struct UrlBatch {
    urls: Vec<String>,
    /// As JSON, at most.
    bytes: usize,
}

impl UrlBatch {
    pub(crate) fn push(&mut self, url: &Canonical) {
        // A URL is ASCII without control characters: JSON escapes a byte of it as two at most.
        self.bytes += 2 * url.url().len() + 3;
        self.urls.push(url.url().to_owned());
    }

    /// Whether one more URL might not fit.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes + RESERVE > MAX_LINE_BYTES
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.urls.is_empty()
    }

    /// Takes what there is; the batch is then empty.
    pub(crate) fn take(&mut self) -> Vec<String> {
        std::mem::take(self).urls
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Request;

    #[test]
    fn the_longest_urls_fit_a_request() {
        let base = "https://a.test/?";
        let url = format!("{base}{}", "\\".repeat(frontier::canonical::MAX_URL_BYTES - base.len()));
        let url = Canonical::parse(&url).expect("a URL");
        let mut batch = UrlBatch::default();
        while !batch.is_full() {
            batch.push(&url);
        }
        let urls = batch.take();
        assert!(urls.len() > 1 && batch.is_empty() && !batch.is_full());
        let request = Request::Import { urls, seen: false };
        assert!(serde_json::to_string(&request).expect("texts are JSON").len() < MAX_LINE_BYTES);
    }
}
