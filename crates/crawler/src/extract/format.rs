//! Which parser a body gets, by its `Content-Type`.
//!
//! Not a guess by the body: a server that says nothing, or something else, gets none. Invariant: what is no format
//! here holds no links.

/// A format that links are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// HTML's own syntax.
    Html,
    /// XML: its first element says whether it is XHTML, SVG, RSS or Atom, or nothing that has links.
    Xml,
    /// A style sheet.
    Css,
}

impl Format {
    /// The format of a `Content-Type` header; parameters do not matter.
    pub fn of(content_type: &str) -> Option<Format> {
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        Some(match essence.as_str() {
            "text/html" => Format::Html,
            "application/xhtml+xml"
            | "application/xml"
            | "text/xml"
            | "image/svg+xml"
            | "application/rss+xml"
            | "application/atom+xml"
            | "application/rdf+xml" => Format::Xml,
            "text/css" => Format::Css,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types() {
        for (header, want) in [
            ("text/html", Some(Format::Html)),
            (" TEXT/HTML ; charset=x", Some(Format::Html)),
            ("application/xhtml+xml", Some(Format::Xml)),
            ("application/rss+xml;charset=utf-8", Some(Format::Xml)),
            ("text/xml", Some(Format::Xml)),
            ("text/css", Some(Format::Css)),
            ("text/plain", None),
            ("image/png", None),
            ("application/json+xml", None),
            ("", None),
        ] {
            assert_eq!(Format::of(header), want, "{header}");
        }
    }
}
