//! What a page says to robots of itself: `<meta name=robots>` and the `X-Robots-Tag` header.
//!
//! Not robots.txt, and not what is done about it. There is no standard: this is what Google, Bing and Yandex document.
//! Whatever is said to all robots and whatever is said to one by its name both count, the stricter of two statements always.
//! Only words that matter to a crawler are read; `unavailable_after`, `noarchive`, `nosnippet` and their like are for
//! search engines. Invariant: the cost is one pass over the text.

use super::product_token;

/// What was said; nothing by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Directives {
    /// The page is not to be shown to anybody: no text of it is kept.
    pub noindex: bool,
    /// No link of the page is to be followed.
    pub nofollow: bool,
}

/// Words that have values of their own behind a colon, so that they are no robot's name in an `X-Robots-Tag`.
const WITH_VALUES: [&str; 4] = ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"];

impl Directives {
    /// Adds the `content` of a `<meta>` whose name is `robots` or the crawler's.
    pub fn add_meta(&mut self, content: &str) {
        content.split(|c: char| matches!(c, ',' | ';') || c.is_whitespace()).for_each(|word| self.add(word));
    }

    /// Adds `X-Robots-Tag` headers, one a line, as far as they are meant for the crawler `product` (see
    /// [`product_token`]): a name before a colon says for whom the rest of its line is, up to the next name.
    pub fn add_header(&mut self, lines: &str, product: &str) {
        for line in lines.lines() {
            let mut is_ours = true;
            for mut words in line.split(',') {
                if let Some((name, rest)) = words.split_once(':')
                    && !WITH_VALUES.iter().any(|word| name.trim().eq_ignore_ascii_case(word))
                {
                    is_ours = product_token(name.trim()).eq_ignore_ascii_case(product);
                    words = rest;
                }
                if is_ours {
                    words.split_whitespace().for_each(|word| self.add(word));
                }
            }
        }
    }

    fn add(&mut self, word: &str) {
        let says = |what: &str| word.eq_ignore_ascii_case(what);
        self.noindex |= says("noindex") || says("none");
        self.nofollow |= says("nofollow") || says("none");
    }

    /// What either says.
    pub fn and(self, other: Directives) -> Directives {
        Directives { noindex: self.noindex || other.noindex, nofollow: self.nofollow || other.nofollow }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(directives: Directives) -> (bool, bool) {
        (directives.noindex, directives.nofollow)
    }

    #[test]
    fn metas_are_lists_of_words() {
        for (content, want) in [
            ("", (false, false)),
            ("all", (false, false)),
            ("NoIndex", (true, false)),
            ("index,NOFOLLOW", (false, true)),
            ("noindex nofollow", (true, true)),
            ("max-snippet:-1; none", (true, true)),
            ("noindexnofollow, not none?", (false, false)),
        ] {
            let mut directives = Directives::default();
            directives.add_meta(content);
            assert_eq!(said(directives), want, "{content:?}");
        }
    }

    #[test]
    fn headers_are_for_all_or_for_whom_they_name() {
        for (lines, want) in [
            ("noindex, nofollow", (true, true)),
            ("otherbot: noindex, nofollow", (false, false)),
            ("otherbot: noindex\nnofollow", (false, true)),
            ("otherbot: noindex, OurBot : nofollow", (false, true)),
            ("ourbot/2.0: none", (true, true)),
            ("ourbotx: none", (false, false)),
            ("unavailable_after: 25 Jun 2010 15:00:00 PST, noindex", (true, false)),
            ("max-image-preview: large, nofollow", (false, true)),
            (":noindex, ,:", (false, false)),
            ("", (false, false)),
        ] {
            let mut directives = Directives::default();
            directives.add_header(lines, "ourbot");
            assert_eq!(said(directives), want, "{lines:?}");
        }
    }
}
