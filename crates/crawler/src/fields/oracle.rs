//! The links of a page by its DOM, for tests: what the streaming extractor must find, too.
//!
//! Written from the definition in `extract`, sharing nothing with it but the parsers of
//! attribute values that a DOM does not have (meta refresh is done again here, simply).

use encoding_rs::Encoding;
use scraper::{ElementRef, Html, Selector};
use url::Url;

/// A page as its DOM shows it.
#[derive(Debug, PartialEq)]
pub(crate) struct OraclePage {
    pub(crate) title: Option<String>,
    pub(crate) base: Url,
    /// Tag, text without fragment, URL without fragment (none if invalid); each text once.
    pub(crate) links: Vec<(String, String, Option<String>)>,
    pub(crate) links_found: u64,
}

const HTML: &str = "http://www.w3.org/1999/xhtml";
const MATHML: &str = "http://www.w3.org/1998/Math/MathML";

pub(crate) fn read(document: &Url, body: &[u8], encoding: &'static Encoding) -> OraclePage {
    let (text, _, _) = encoding.decode(body);
    let html = Html::parse_document(&text);
    let mut base = elements(&html, "base[href]")
        .find(|element| is_html(element))
        .and_then(|element| document.join(element.attr("href")?).ok())
        .unwrap_or_else(|| document.clone());
    base.set_fragment(None);
    let title = elements(&html, "title").find(|element| is_html(element));
    let title = title.map(|element| {
        let text: String = element.text().collect();
        text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
    });
    let mut page = OraclePage { title, base, links: Vec::new(), links_found: 0 };
    let wanted = "a[href], area[href], link[href][rel], iframe[src], frame[src], \
                  meta[http-equiv=refresh i][content]";
    for element in elements(&html, wanted) {
        if let Some(raw) = link(&element) {
            page.add(element.value().name(), &raw, encoding);
        }
    }
    page
}

impl OraclePage {
    fn add(&mut self, tag: &str, raw: &str, encoding: &'static Encoding) {
        self.links_found += 1;
        let raw = match raw.split_once('#') {
            Some((before, _)) if !before.ends_with(|c: char| c <= ' ') => before,
            _ => raw,
        };
        if self.links.iter().any(|(_, seen, _)| seen == raw) {
            return;
        }
        let options = Url::options().base_url(Some(&self.base));
        let url = options.encoding_override(Some(&|query: &str| encoding.encode(query).0)).parse(raw).ok();
        let url = url.map(|mut url| {
            url.set_fragment(None);
            url.to_string()
        });
        self.links.push((tag.to_owned(), raw.to_owned(), url));
    }
}

/// The text of the link that `element` is, if it is one.
fn link(element: &ElementRef<'_>) -> Option<String> {
    let value = |name: &str| element.attr(name).map(str::to_owned);
    match element.value().name() {
        "a" if &*element.value().name.ns != MATHML => value("href"),
        _ if !is_html(element) => None,
        "area" => value("href"),
        "iframe" | "frame" => value("src"),
        "link" => {
            let rel = element.attr("rel")?.to_ascii_lowercase();
            let mut words = rel.split_ascii_whitespace();
            let is_page = words.any(|word| matches!(word, "canonical" | "alternate" | "next" | "prev"));
            let is_style = rel.split_ascii_whitespace().any(|word| word == "stylesheet");
            value("href").filter(|_| is_page && !is_style)
        }
        _ => {
            let (_, url) = element.attr("content")?.split_once(['=', ';'])?;
            let url = url.split_once('=').map_or(url, |(_, url)| url);
            Some(url.trim().trim_matches(['"', '\'']).to_owned())
        }
    }
}

/// The elements that match, except those in a template.
fn elements<'a>(html: &'a Html, selector: &str) -> impl Iterator<Item = ElementRef<'a>> {
    let selector = Selector::parse(selector).expect("valid");
    let found: Vec<ElementRef<'a>> = html.select(&selector).collect();
    found.into_iter().filter(|element| {
        let mut parents = element.ancestors().filter_map(ElementRef::wrap);
        !parents.any(|parent| {
            let is_template = parent.value().name() == "template" && is_html(&parent);
            is_template && parent.attr("shadowrootmode").is_none()
        })
    })
}

fn is_html(element: &ElementRef<'_>) -> bool {
    &*element.value().name.ns == HTML
}
