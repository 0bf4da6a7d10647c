//! Where in a document its reader is: outside of an entry, in one, in one of its fields, or in something else.
//!
//! Not the tokens. Invariant: an element counts only directly in an entry, and with the prefix of the root element or
//! none, so that the `image:loc` of a page is no page.

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::QName;

use super::super::{End, Format, Settings, Sitemap};
use super::draft::{Draft, Field, Value};
use super::resolve;

/// What is known of the document so far.
#[derive(Default)]
pub(super) struct Document {
    /// Name of the root element, with its prefix.
    root: String,
    format: Option<Format>,
    place: Place,
    draft: Draft,
}

#[derive(Default)]
enum Place {
    /// In no entry.
    #[default]
    Outside,
    Entry,
    /// In a field, and so many elements deeper.
    Field(Field, Value, u32),
    /// So many elements deep in one that does not matter.
    Other(u32),
}

impl Document {
    /// Takes the next token.
    pub(super) fn token(&mut self, event: &Event<'_>, sitemap: &mut Sitemap, settings: &Settings) -> Result<(), End> {
        match event {
            Event::Start(tag) if self.format.is_none() => self.root(tag.name(), sitemap, settings),
            Event::Empty(tag) if self.format.is_none() => {
                self.root(tag.name(), sitemap, settings)?;
                Err(End::Complete)
            }
            Event::Start(tag) => {
                self.link(tag, settings);
                self.start(tag.name(), sitemap, settings)
            }
            Event::Empty(tag) => {
                self.link(tag, settings);
                Ok(())
            }
            Event::End(_) if self.format.is_none() => Ok(()),
            Event::End(tag) => self.end(tag.name(), sitemap, settings),
            Event::Text(text) => {
                self.text(text, settings);
                Ok(())
            }
            Event::CData(text) => {
                self.text(text, settings);
                Ok(())
            }
            Event::GeneralRef(reference) => {
                match (resolve(reference), &mut self.place) {
                    (Some(text), _) => self.text(&text, settings),
                    (None, Place::Field(_, value, _)) => value.spoil(),
                    (None, _) => {}
                }
                Ok(())
            }
            Event::Decl(_) | Event::PI(_) | Event::DocType(_) | Event::Comment(_) | Event::Eof => Ok(()),
        }
    }

    /// Ends the text: an entry that nobody has closed is one, but for a URL that may have been cut.
    pub(super) fn finish(&mut self, sitemap: &mut Sitemap, settings: &Settings) -> Result<(), End> {
        match std::mem::take(&mut self.place) {
            Place::Field(Field::Url, ..) | Place::Outside => Ok(()),
            _ => std::mem::take(&mut self.draft).end(sitemap, settings),
        }
    }

    fn root(&mut self, name: QName<'_>, sitemap: &mut Sitemap, settings: &Settings) -> Result<(), End> {
        let (local, _) = parts(name);
        let formats =
            [("urlset", Format::UrlSet), ("sitemapindex", Format::Index), ("rss", Format::Rss), ("feed", Format::Atom)];
        let found = formats.iter().find(|(root, _)| root.eq_ignore_ascii_case(local)).map(|(_, format)| *format);
        let found = found.or_else(|| (local == "RDF").then_some(Format::Rss));
        let is_its_own = |format: &Format| matches!(format, Format::UrlSet | Format::Index);
        let format = found.filter(|format| settings.is_expected || is_its_own(format)).ok_or(End::NotASitemap)?;
        (self.format, sitemap.format) = (Some(format), Some(format));
        self.root = name.as_ref().to_owned();
        Ok(())
    }

    fn start(&mut self, name: QName<'_>, sitemap: &mut Sitemap, settings: &Settings) -> Result<(), End> {
        let (is_entry, field) = (self.is_entry(name), self.field(name));
        match (&mut self.place, is_entry, field) {
            (Place::Outside, true, _) => self.place = Place::Entry,
            (Place::Outside, false, _) => {}
            // Some put the entry's own element into its URL.
            (Place::Field(_, value, depth), true, _) if value.is_empty() => *depth += 1,
            // Nobody has closed the one before.
            (Place::Entry | Place::Field(..) | Place::Other(_), true, _) => {
                self.end_entry(sitemap, settings)?;
                self.place = Place::Entry;
            }
            (Place::Field(before, ..), false, Some(field)) if *before != field => {
                self.end_field(settings);
                self.place = Place::Field(field, Value::default(), 0);
            }
            (Place::Field(_, _, depth) | Place::Other(depth), false, _) => *depth = depth.saturating_add(1),
            (Place::Entry, false, Some(field)) => {
                // An index that closes none of its entries: each URL is one. (A feed may have several for an item.)
                if field == Field::Url && self.draft.has_url() && !self.is_feed() {
                    self.end_entry(sitemap, settings)?;
                }
                self.place = Place::Field(field, Value::default(), 0);
            }
            (Place::Entry, false, None) => self.place = Place::Other(1),
        }
        Ok(())
    }

    fn end(&mut self, name: QName<'_>, sitemap: &mut Sitemap, settings: &Settings) -> Result<(), End> {
        if name.as_ref() == self.root {
            self.end_entry(sitemap, settings)?;
            return Err(End::Complete);
        }
        let (is_entry, field) = (self.is_entry(name), self.field(name));
        match &mut self.place {
            Place::Field(_, _, depth) if *depth > 0 => *depth -= 1,
            Place::Field(of, ..) if !is_entry || field == Some(*of) => self.end_field(settings),
            Place::Other(1) if !is_entry => self.place = Place::Entry,
            Place::Other(depth) if !is_entry => *depth -= 1,
            Place::Entry | Place::Field(..) | Place::Other(_) if is_entry => self.end_entry(sitemap, settings)?,
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str, settings: &Settings) {
        if let Place::Field(_, value, _) = &mut self.place {
            value.push(text, settings);
        }
    }

    /// The link of an Atom entry stands in an attribute.
    fn link(&mut self, tag: &BytesStart<'_>, settings: &Settings) {
        let is_link = self.format == Some(Format::Atom) && parts(tag.name()).0 == "link";
        if !is_link || !matches!(self.place, Place::Entry) {
            return;
        }
        let attribute = |wanted: &str| {
            let mut attributes = tag.attributes();
            let found = attributes.with_checks(false).flatten().find(|attribute| attribute.key.as_ref() == wanted)?;
            Some(found.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned())
        };
        if attribute("rel").is_none_or(|rel| rel == "alternate")
            && let Some(href) = attribute("href")
        {
            let mut value = Value::default();
            value.push(&href, settings);
            self.draft.set(Field::Url, &value, settings);
        }
    }

    fn end_field(&mut self, settings: &Settings) {
        if let Place::Field(field, value, _) = std::mem::replace(&mut self.place, Place::Entry) {
            self.draft.set(field, &value, settings);
        }
    }

    fn end_entry(&mut self, sitemap: &mut Sitemap, settings: &Settings) -> Result<(), End> {
        if let Place::Field(..) = self.place {
            self.end_field(settings);
        }
        self.place = Place::Outside;
        std::mem::take(&mut self.draft).end(sitemap, settings)
    }

    fn is_feed(&self) -> bool {
        matches!(self.format, Some(Format::Rss | Format::Atom))
    }

    fn is_entry(&self, name: QName<'_>) -> bool {
        let (local, prefix) = parts(name);
        let wanted = match self.format {
            Some(Format::UrlSet) => "url",
            Some(Format::Index) => "sitemap",
            Some(Format::Rss) => "item",
            Some(Format::Atom) => "entry",
            Some(Format::Text) | None => return false,
        };
        self.counts(prefix) && local.eq_ignore_ascii_case(wanted)
    }

    fn field(&self, name: QName<'_>) -> Option<Field> {
        let (local, prefix) = parts(name);
        let local = local.to_ascii_lowercase();
        // Dublin Core's date stands in for that of a feed.
        if self.format == Some(Format::Rss) && local == "date" {
            return Some(Field::Published);
        }
        let field = match (self.format?, local.as_str()) {
            (Format::UrlSet | Format::Index, "loc") | (Format::Rss, "link") => Field::Url,
            (Format::UrlSet | Format::Index, "lastmod") | (Format::Atom, "updated" | "modified") => Field::Changed,
            (Format::UrlSet | Format::Index, "changefreq") => Field::Frequency,
            (Format::UrlSet | Format::Index, "priority") => Field::Priority,
            (Format::Rss, "guid") => Field::Guid,
            (Format::Rss, "pubdate") | (Format::Atom, "published" | "issued") => Field::Published,
            _ => return None,
        };
        self.counts(prefix).then_some(field)
    }

    /// Whether elements with this prefix are the format's own.
    fn counts(&self, prefix: &str) -> bool {
        let of_root = self.root.split_once(':').map_or("", |(prefix, _)| prefix);
        prefix.is_empty() || prefix == of_root
    }
}

/// Local name and prefix.
fn parts(name: QName<'_>) -> (&str, &str) {
    let name = name.into_inner();
    name.split_once(':').map_or((name, ""), |(prefix, local)| (local, prefix))
}
