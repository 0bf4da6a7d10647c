//! The links of a page by its DOM, for tests: what the streaming extractor must find, too.
//!
//! Written from the definition in `extract`, sharing nothing with it but the parsers of attribute values that a DOM does
//! not have: a caller gives those of srcset and style sheets (meta refresh is done again here, simply).

use encoding_rs::Encoding;
use scraper::{ElementRef, Html, Selector};
use url::Url;

/// A page as its DOM shows it.
#[derive(Debug, PartialEq)]
pub(crate) struct OraclePage {
    pub(crate) title: Option<String>,
    pub(crate) base: Url,
    /// Element, attribute, text without fragment, URL without fragment (none if invalid); each text once.
    pub(crate) links: Vec<(String, String, String, Option<String>)>,
    pub(crate) links_found: u64,
}

/// Calls a function with each URL in a text.
pub(crate) type Urls = fn(&str, &mut dyn FnMut(&str));

/// What the DOM does not tell.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// All kinds of links, not only navigation.
    pub(crate) all: bool,
    pub(crate) srcset: Urls,
    pub(crate) css: Urls,
}

const HTML: &str = "http://www.w3.org/1999/xhtml";
const SVG: &str = "http://www.w3.org/2000/svg";

pub(crate) fn read(document: &Url, body: &[u8], encoding: &'static Encoding, wanted: Wanted) -> OraclePage {
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
    let mut seen = std::collections::HashSet::new();
    for element in elements(&html, "*") {
        for (name, attribute, raw) in links(&element, wanted) {
            page.links_found += 1;
            let raw = match raw.split_once('#') {
                Some((before, _)) if !before.ends_with(|c: char| c <= ' ') => before.to_owned(),
                _ => raw,
            };
            if seen.insert(raw.clone()) {
                let url = page.resolve(&raw, encoding);
                page.links.push((name, attribute.to_owned(), raw, url));
            }
        }
    }
    page
}

impl OraclePage {
    fn resolve(&self, raw: &str, encoding: &'static Encoding) -> Option<String> {
        let options = Url::options().base_url(Some(&self.base));
        let url = options.encoding_override(Some(&|query: &str| encoding.encode(query).0)).parse(raw).ok();
        url.map(|mut url| {
            url.set_fragment(None);
            url.to_string()
        })
    }
}

type Links = Vec<(String, &'static str, String)>;

/// The links that an element holds: element, attribute, text.
fn links(element: &ElementRef<'_>, wanted: Wanted) -> Links {
    let name = element.value().name();
    let (is_html, is_svg) = (is_html(element), &*element.value().name.ns == SVG);
    if !is_html && !is_svg {
        return Vec::new();
    }
    let mut links = Links::new();
    let mut add = |of: &str, attribute: &'static str, value: Option<&str>| {
        links.extend(value.map(|value| (of.to_owned(), attribute, value.to_owned())));
    };
    let value = |attribute: &str| element.attr(attribute);
    match (name, is_html) {
        ("a" | "area", true) => add(name, "href", value("href")),
        ("iframe" | "frame", true) => add(name, "src", value("src")),
        ("link", true) => {
            let is = |words: &[&str]| {
                let rel = value("rel").unwrap_or_default().to_ascii_lowercase();
                rel.split_ascii_whitespace().any(|word| words.contains(&word))
            };
            let is_page = is(&["canonical", "alternate", "next", "prev"]) && !is(&["stylesheet"]);
            let is_file = is(&["stylesheet", "icon", "apple-touch-icon", "preload", "manifest", "prefetch"]);
            let is_off = is(&["stylesheet"]) && value("disabled").is_some();
            if is_page || (wanted.all && is_file && !is_off) {
                add("link", "href", value("href"));
            }
        }
        ("meta", true) if value("http-equiv").is_some_and(|of| of.eq_ignore_ascii_case("refresh")) => {
            let url = value("content").and_then(|content| content.split_once(['=', ';']));
            let url = url.map(|(_, url)| url.split_once('=').map_or(url, |(_, url)| url));
            add("meta", "content", url.map(|url| url.trim().trim_matches(['"', '\''])));
        }
        _ => {}
    }
    if !is_html && (wanted.all || name == "a") {
        drawing(element, &mut links);
    }
    if wanted.all {
        files(element, is_html, wanted, &mut links);
    }
    links
}

/// What only the whole set of kinds has.
fn files(element: &ElementRef<'_>, is_html: bool, wanted: Wanted, links: &mut Links) {
    let name = element.value().name();
    let plain: &[&'static str] = match (name, is_html) {
        ("form", true) => match element.attr("method").unwrap_or("get").to_ascii_lowercase().as_str() {
            "post" | "dialog" => &[],
            _ => &["action"],
        },
        ("input", true) if element.attr("type").is_none_or(|of| !of.eq_ignore_ascii_case("image")) => &[],
        ("img" | "script" | "embed" | "audio" | "track" | "source" | "input", true) => &["src"],
        ("object", true) => &["data"],
        ("video", true) => &["src", "poster"],
        _ => &[],
    };
    for attribute in plain {
        let value = element.attr(attribute).map(str::to_owned);
        links.extend(value.map(|value| (name.to_owned(), *attribute, value)));
    }
    let mut add_all = |of: &str, attribute: &'static str, urls: Urls, text: &str| {
        urls(text, &mut |url| links.push((of.to_owned(), attribute, url.to_owned())));
    };
    let srcset = if name == "link" { "imagesrcset" } else { "srcset" };
    if let (true, true, Some(value)) = (is_html, ["img", "source", "link"].contains(&name), element.attr(srcset)) {
        add_all(name, srcset, wanted.srcset, value);
    }
    let is_cell = ["body", "table", "thead", "tbody", "tfoot", "tr", "td", "th"].contains(&name);
    if let (true, true, Some(value)) = (is_html, is_cell, element.attr("background")) {
        add_all("*", "background", |text, take| take(text), value);
    }
    if let Some(value) = element.attr("style") {
        add_all("*", "style", wanted.css, value);
    }
    if name == "style" {
        add_all("style", "", wanted.css, &element.text().collect::<String>());
    }
}

/// The link of an element of SVG. HTML's parser gives `xlink:href` a namespace, and the name `href`.
fn drawing(element: &ElementRef<'_>, links: &mut Links) {
    let name = element.value().name();
    if ["a", "script", "image", "feImage", "use"].contains(&name) {
        let hrefs = element.value().attrs.iter().filter(|(key, _)| &*key.local == "href");
        let first = hrefs.min_by_key(|(key, _)| !key.ns.is_empty());
        let attribute = |is_plain| if is_plain { "href" } else { "xlink:href" };
        links.extend(
            first.map(|(key, value)| (name.to_ascii_lowercase(), attribute(key.ns.is_empty()), value.to_string())),
        );
    }
}

/// The elements that match, except those in a template.
fn elements<'a>(html: &'a Html, selector: &str) -> impl Iterator<Item = ElementRef<'a>> {
    let selector = Selector::parse(selector).expect("valid");
    let has_templates = html.select(&Selector::parse("template").expect("valid")).next().is_some();
    let found: Vec<ElementRef<'a>> = html.select(&selector).collect();
    found.into_iter().filter(move |element| {
        let mut parents = element.ancestors().filter_map(ElementRef::wrap);
        !has_templates
            || !parents.any(|parent| {
                let is_template = parent.value().name() == "template" && is_html(&parent);
                is_template && parent.attr("shadowrootmode").is_none()
            })
    })
}

fn is_html(element: &ElementRef<'_>) -> bool {
    &*element.value().name.ns == HTML
}
