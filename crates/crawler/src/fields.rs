//! Values picked from pages by CSS selectors: the `[[fields]]` of the configuration.
//!
//! The only module that names `scraper`: a DOM is built here and nowhere else, and only for
//! pages from which fields are wanted (it costs about six times what finding the links
//! does). Not the place where values are written. Invariant: a page costs no more time than
//! the caller grants, for a tree builder takes quadratic time and space on hostile nesting.

use html5ever::ParseOpts;
use html5ever::tendril::{StrTendril, TendrilSink};
use scraper::{Html, HtmlTreeSink, Selector};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::{Duration, Instant};
use thiserror::Error;

/// One entry of `[[fields]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldConfig {
    /// The key of the values in the output.
    pub name: String,
    /// A CSS selector; every element that matches gives one value.
    pub selector: String,
    /// The attribute to take; without it, the element's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
}

/// Why there are no values.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FieldsError {
    /// A selector is not valid CSS; correct the configuration.
    #[error("field {name:?}: not a CSS selector: {reason}")]
    Selector {
        /// The field's name.
        name: String,
        /// What the CSS parser says.
        reason: String,
    },
    /// The page took longer than it may; nothing can be done for this page.
    #[error("building the page's tree takes too long")]
    TooSlow,
}

/// The wanted fields, ready to be applied to pages.
#[derive(Debug, Clone)]
pub struct Fields {
    fields: Vec<(FieldConfig, Selector)>,
}

impl Fields {
    /// Prepares `configs`.
    ///
    /// # Errors
    /// [`FieldsError::Selector`] for the first selector that is not valid.
    pub fn new(configs: &[FieldConfig]) -> Result<Fields, FieldsError> {
        let prepare = |config: &FieldConfig| match parse_selector(&config.selector) {
            Ok(selector) => Ok((config.clone(), selector)),
            Err(reason) => Err(FieldsError::Selector { name: config.name.clone(), reason }),
        };
        let fields = configs.iter().map(prepare).collect::<Result<_, _>>()?;
        Ok(Fields { fields })
    }

    /// No fields are wanted, so no DOM need be built.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The values of each field in document order, by its name; an empty list where nothing
    /// matched. `html` is the decoded page (its size is for the caller to bound), `limit`
    /// the time that building its tree may take.
    ///
    /// # Errors
    /// [`FieldsError::TooSlow`]; what was built is dropped.
    pub fn extract(&self, html: &str, limit: Duration) -> Result<Map<String, Value>, FieldsError> {
        let tree = tree(html, limit).ok_or(FieldsError::TooSlow)?;
        let mut values = Map::new();
        for (config, selector) in &self.fields {
            let found = tree.select(selector).filter_map(|element| {
                let value = match &config.attribute {
                    Some(name) => element.attr(name)?.to_owned(),
                    None => text(element.text()),
                };
                Some(Value::String(value))
            });
            values.insert(config.name.clone(), found.collect());
        }
        Ok(values)
    }
}

/// Whether `selector` is valid CSS.
///
/// # Errors
/// What the CSS parser says.
pub fn check_selector(selector: &str) -> Result<(), String> {
    parse_selector(selector).map(drop)
}

fn parse_selector(selector: &str) -> Result<Selector, String> {
    Selector::parse(selector).map_err(|error| error.to_string().replace('\n', ": "))
}

/// The DOM of a page, built tag by tag until the time is up.
fn tree(html: &str, limit: Duration) -> Option<Html> {
    /// Tags between looks at the clock: about 10 microseconds of a well-meant page.
    const TAGS_PER_LOOK: usize = 32;
    let start = Instant::now();
    let sink = HtmlTreeSink::new(Html::new_document());
    let mut parser = html5ever::parse_document(sink, ParseOpts::default());
    let mut tags = html.split_inclusive('>');
    loop {
        let before = tags.clone();
        let count = tags.by_ref().take(TAGS_PER_LOOK).map(str::len).sum::<usize>();
        if count == 0 {
            return Some(parser.finish());
        }
        let mut piece = StrTendril::new();
        for tag in before.take(TAGS_PER_LOOK) {
            piece.push_slice(tag);
        }
        parser.process(piece);
        if start.elapsed() > limit {
            return None;
        }
    }
}

/// The text of an element, white space collapsed.
fn text<'a>(pieces: impl Iterator<Item = &'a str>) -> String {
    let text: String = pieces.collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
pub(crate) mod oracle;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const LIMIT: Duration = Duration::from_secs(60);

    fn field(name: &str, selector: &str, attribute: Option<&str>) -> FieldConfig {
        FieldConfig { name: name.to_owned(), selector: selector.to_owned(), attribute: attribute.map(str::to_owned) }
    }

    #[test]
    fn values_are_listed_by_field() {
        let fields = Fields::new(&[
            field("price", ".price > b", None),
            field("image", "img", Some("src")),
            field("none", "video", None),
        ])
        .expect("valid selectors");
        let html = "<p class=price><b> 1 <i>000</i>\n</b><b>2</b><img src=a.png><img>";
        let values = fields.extract(html, LIMIT).expect("in time");
        let want = json!({"price": ["1 000", "2"], "image": ["a.png"], "none": []});
        assert_eq!(Value::Object(values), want);
    }

    #[test]
    fn a_wrong_selector_is_named() {
        let error = Fields::new(&[field("price", "p >", None)]).expect_err("invalid");
        assert!(error.to_string().starts_with("field \"price\": not a CSS selector"), "{error}");
        assert!(check_selector("a[").is_err());
        assert_eq!(check_selector("a[href^=x], b:not(.y)"), Ok(()));
    }

    #[test]
    fn workers_share_the_fields() {
        fn shared<T: Send + Sync>() {}
        shared::<Fields>();
    }

    #[test]
    fn without_fields_there_is_nothing_to_do() {
        assert!(Fields::new(&[]).expect("valid").is_empty());
    }

    #[test]
    fn a_page_that_explodes_is_left_off() {
        // Every paragraph reopens all the unclosed elements before it: 10^9 in the end.
        let open: String = (0..30_000).map(|i| format!("<b a={i}>")).collect();
        let html = open + &"<p>x".repeat(30_000);
        let fields = Fields::new(&[field("b", "b", None)]).expect("valid");
        let limit = Duration::from_millis(50);
        assert_eq!(fields.extract(&html, limit), Err(FieldsError::TooSlow));
    }
}
