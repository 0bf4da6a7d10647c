//! The keys of `[canonical]`.
//!
//! Not the rules (`frontier::canonical`). Invariant: as in `keys`.

use frontier::RuleOptions;
use frontier::canonical::{Rewrite, RewriteError};
use toml::de::DeValue;

use super::Pattern;
use super::section::Section;

/// Reads the section.
pub(super) fn read(s: &mut Section<'_>, out: &mut RuleOptions) {
    s.boolean("fold_scheme", &mut out.fold_scheme);
    s.boolean("drop_userinfo", &mut out.drop_userinfo);
    s.boolean("fold_trailing_dot", &mut out.fold_trailing_dot);
    s.boolean("fold_www", &mut out.fold_www);
    s.boolean("fold_percent_encoding", &mut out.fold_percent_encoding);
    s.boolean("drop_session_ids", &mut out.drop_session_ids);
    s.boolean("fold_path_case", &mut out.fold_path_case);
    s.boolean("fold_slashes", &mut out.fold_slashes);
    s.boolean("fold_trailing_slash", &mut out.fold_trailing_slash);
    s.boolean("drop_index_pages", &mut out.drop_index_pages);
    s.boolean("drop_tracking_parameters", &mut out.drop_tracking_parameters);
    s.texts("drop_parameters", parameter, &mut out.drop_parameters);
    s.boolean("drop_repeated_parameters", &mut out.drop_repeated_parameters);
    s.boolean("sort_query", &mut out.sort_query);
    s.boolean("fold_empty_query", &mut out.fold_empty_query);
    rewrites(s, &mut out.rewrites);
}

/// A name, or the start of one and `*`.
fn parameter(text: &str) -> Result<String, String> {
    let name = text.strip_suffix('*').unwrap_or(text);
    let in_name = |b: u8| b.is_ascii_graphic() && !matches!(b, b'&' | b'=' | b'#' | b'*');
    if name.is_empty() || !name.bytes().all(in_name) {
        return Err(format!("must be the name of a parameter as URLs write it, or its start and *, found {text:?}"));
    }
    Ok(text.to_owned())
}

/// Reads the list of replacements; it replaces the one before.
fn rewrites(s: &mut Section<'_>, out: &mut Vec<Rewrite>) {
    let Some(value) = s.take("rewrites") else { return };
    let DeValue::Array(elements) = value.get_ref() else {
        return s.wrong_type(value, "a list of tables ({ pattern = …, replacement = … })");
    };
    out.clear();
    for element in elements.iter() {
        s.element("canonical.rewrites", element, |s| out.extend(rewrite(s, element.span())));
    }
}

/// One replacement. Each part is tried with harmless others, so that a mistake is found where it is.
fn rewrite(s: &mut Section<'_>, span: std::ops::Range<usize>) -> Option<Rewrite> {
    let (mut host, mut pattern, mut replacement) = (None, None, None);
    let a_host = |text: &str| match Rewrite::new(Some(text), "", "") {
        Ok(_) => Ok(Some(text.to_owned())),
        Err(error) => Err(format!("{error}, found {text:?}")),
    };
    s.text("host", a_host, &mut host);
    s.text("pattern", |text| Pattern::new(text).map(Some), &mut pattern);
    let fitting = |text: &str| match Rewrite::new(None, pattern.as_ref().map_or("", Pattern::as_str), text) {
        Err(RewriteError::Group(_)) if pattern.is_none() => Ok(None),
        Ok(_) => Ok(Some(text.to_owned())),
        Err(error) => Err(error.to_string()),
    };
    s.text("replacement", fitting, &mut replacement);
    for key in ["pattern", "replacement"] {
        if !s.has(key) {
            s.mistake(span.clone(), format!("a rewrite needs {key}"));
        }
    }
    Rewrite::new(host.as_deref(), pattern?.as_str(), &replacement?).ok()
}
