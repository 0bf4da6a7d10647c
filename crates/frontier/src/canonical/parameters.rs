//! What is known about parameters: which of them only say where a visitor came from, and which are session ids.
//!
//! Not what is done about it (`query`, `path`). Invariant: a name stands here only if no page is known to change with
//! it; where a name has another use, the shape of its value must tell the two apart.

use std::sync::LazyLock;

use super::path::{INDEX_EXTENSIONS, INDEX_STEMS};

/// Tracking parameters of advertisements, mailings and analytics; `*` ends a prefix. After the makers' documentation and
/// the lists that browsers strip by (Firefox `privacy.query_stripping.strip_list`, Brave's query filter). Names that sites
/// also use for content (`ref`, `source`, `cid`, `pk_id`, `spm`, `si`) are left out.
#[rustfmt::skip]
const TRACKING: &[&str] = &[
    // Google: Analytics, Ads, Merchant Center
    "utm_*", "_ga", "_gl", "gclid", "gclsrc", "gbraid", "wbraid", "dclid", "gad_source", "gad_campaignid", "srsltid",
    // Meta
    "fbclid", "fb_action_ids", "fb_action_types", "fb_source", "fb_ref", "igshid", "igsh",
    // Microsoft, Yandex, X, TikTok, LinkedIn, Pinterest, Snap, Yahoo
    "msclkid", "yclid", "ysclid", "twclid", "ttclid", "li_fat_id", "epik", "sccid",
    "guccounter", "guce_referrer", "guce_referrer_sig",
    // Matomo and Piwik
    "mtm_*", "matomo_campaign", "matomo_kwd", "piwik_campaign", "piwik_kwd",
    "pk_campaign", "pk_kwd", "pk_keyword", "pk_source", "pk_medium", "pk_content", "pk_cid",
    // mailings: Mailchimp, HubSpot, Marketo, Vero, Omeda, Drip
    "mc_cid", "mc_eid", "_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "hsctatracking", "mkt_tok",
    "vero_id", "vero_conv", "oly_anon_id", "oly_enc_id", "__s",
    // Adobe, affiliate networks, Webtrekk, AT Internet
    "s_kwcid", "ef_id", "irclickid", "irgwc", "cjevent", "rb_clickid", "wickedid", "wt_mc", "wt_zmc", "xtor",
];

/// Names of session ids, and what their values must look like.
const SESSION: [(&str, Value); 17] = [
    ("jsessionid", Value::Any),          // servlets
    ("jservsessionidroot", Value::Any),  // Apache JServ
    ("phpsessid", Value::Any),           // PHP
    ("asp.net_sessionid", Value::Any),   // ASP.NET
    ("aspsessionid*", Value::Any),       // ASP: eight letters follow
    ("cftoken", Value::Any),             // ColdFusion, two numbers
    ("cfid", Value::Beside("cftoken=")), // … of which this one alone may name something else
    ("oscsid", Value::Any),              // osCommerce
    ("xtcsid", Value::Any),              // xt:Commerce
    ("zenid", Value::Any),               // Zen Cart
    ("bv_sessionid", Value::Any),        // BroadVision
    ("bv_engineid", Value::Any),
    ("sessionid", Value::Token),
    ("_sessionid", Value::Token),
    ("session_id", Value::Token),
    ("sessid", Value::Token),
    ("sid", Value::Hex),
];

/// Fewest characters of a value that is taken for a session id where the name nearly says so.
const MIN_TOKEN: usize = 16;

/// Fewest hex digits that are taken for a session id where the name says little: those of an MD5 sum, as in phpBB.
/// (Slashdot's `sid` of 16 is a story, and so is Kuro5hin's of 20: in a list of real URLs nearly all below 32 were.)
const MIN_HEX_DIGITS: usize = 32;

#[derive(Debug, Clone, Copy)]
enum Value {
    Any,
    /// At least 32 hex digits and nothing else.
    Hex,
    /// At least 16 letters and digits, both, and nothing else: no title, no number.
    Token,
    /// Any, where the query holds this text, too.
    Beside(&'static str),
}

impl Value {
    fn fits(self, value: &str, query: &str) -> bool {
        let bytes = value.as_bytes();
        match self {
            Self::Any => true,
            Self::Hex => bytes.len() >= MIN_HEX_DIGITS && bytes.iter().all(u8::is_ascii_hexdigit),
            Self::Token => {
                bytes.len() >= MIN_TOKEN
                    && bytes.iter().all(u8::is_ascii_alphanumeric)
                    && bytes.iter().any(u8::is_ascii_digit)
                    && bytes.iter().any(u8::is_ascii_alphabetic)
            }
            Self::Beside(other) => {
                query.as_bytes().windows(other.len()).any(|w| w.eq_ignore_ascii_case(other.as_bytes()))
            }
        }
    }
}

/// Is this parameter a session id? `query` is what it stands in; empty for one in a path.
pub(super) fn is_session_id(name: &str, value: &str, query: &str) -> bool {
    static NAMES: LazyLock<Names> = LazyLock::new(|| Names::new(&SESSION.map(|(name, _)| name)));
    // Most names end at the first look.
    NAMES.may_contain(name) && SESSION.iter().any(|(known, shape)| is_named(name, known) && shape.fits(value, query))
}

fn is_named(name: &str, known: &str) -> bool {
    match known.strip_suffix('*') {
        None => known.eq_ignore_ascii_case(name),
        Some(prefix) => name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix)),
    }
}

/// The tracking parameters.
pub(super) fn tracking() -> &'static Names {
    static NAMES: LazyLock<Names> = LazyLock::new(|| Names::new(TRACKING));
    &NAMES
}

/// A checksum of all that the rules know by heart: keys depend on it.
pub(crate) fn tables_checksum() -> u32 {
    let lengths = [MIN_TOKEN, MIN_HEX_DIGITS];
    crc32fast::hash(format!("{TRACKING:?}{SESSION:?}{lengths:?}{INDEX_STEMS:?}{INDEX_EXTENSIONS:?}").as_bytes())
}

/// Names of parameters, exact or (`utm_*`) by prefix; the case of ASCII letters does not matter.
#[derive(Debug, Clone)]
pub(super) struct Names {
    /// In lower case, sorted.
    exact: Vec<Box<str>>,
    /// In lower case.
    prefixes: Vec<Box<str>>,
    /// For each first byte (in lower case), the lengths of names that start with it, as bits; 31 stands for all longer
    /// ones. Most names end here.
    lengths: [u32; 256],
}

impl Names {
    pub(super) fn new(names: &[impl AsRef<str>]) -> Self {
        let mut all = Self { exact: Vec::new(), prefixes: Vec::new(), lengths: [0; 256] };
        for name in names {
            let name = name.as_ref().to_ascii_lowercase();
            let (first, length) = (first_byte(&name), length_bit(&name));
            match name.strip_suffix('*') {
                Some(prefix) => {
                    // This length and all above it.
                    all.lengths[first] |= u32::MAX << length_bit(prefix);
                    all.prefixes.push(prefix.into());
                }
                None => {
                    all.lengths[first] |= 1 << length;
                    all.exact.push(name.into());
                }
            }
        }
        all.exact.sort_unstable();
        all
    }

    /// False for most names that are none of these.
    fn may_contain(&self, name: &str) -> bool {
        self.lengths[first_byte(name)] >> length_bit(name) & 1 == 1
    }

    pub(super) fn contain(&self, name: &str) -> bool {
        let lower = || name.bytes().map(|b| b.to_ascii_lowercase());
        self.may_contain(name)
            && (self.exact.binary_search_by(|known| known.bytes().cmp(lower())).is_ok()
                || self.prefixes.iter().any(|prefix| lower().take(prefix.len()).eq(prefix.bytes())))
    }
}

fn first_byte(name: &str) -> usize {
    name.as_bytes().first().map_or(0, |byte| usize::from(byte.to_ascii_lowercase()))
}

fn length_bit(name: &str) -> usize {
    name.len().min(31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracking_parameters_are_known_by_name() {
        for name in ["utm_source", "UTM_Medium", "utm_", "gclid", "FBCLID", "mc_eid", "__s"] {
            assert!(tracking().contain(name), "{name}");
        }
        for name in ["", "utm", "gclidx", "gcli", "ref", "source", "id", "pk_id", "s", "ütm_source"] {
            assert!(!tracking().contain(name), "{name}");
        }
    }

    #[test]
    fn the_table_is_in_lower_case_and_holds_nothing_twice() {
        let names: Vec<&str> = TRACKING.iter().chain(SESSION.map(|(name, _)| name).iter()).copied().collect();
        for (i, name) in names.iter().enumerate() {
            assert_eq!(*name, name.to_ascii_lowercase());
            assert!(!names[..i].contains(name), "{name} is there twice");
        }
    }

    #[test]
    fn session_ids_are_known_by_name_and_value() {
        let is = |text: &str| {
            let (name, value) = text.split_once('=').expect("a parameter");
            is_session_id(name, value, "cfid=1&CFTOKEN=2")
        };
        for text in [
            "PHPSESSID=x",
            "ASPSESSIONIDAABBCCDD=ABC",
            "sid=0123456789abcdef0123456789ABCDEF",
            "sessionID=824A6C0A13a7e11205wxN28F44E3",
            "cfid=1",
            "cftoken=2",
        ] {
            assert!(is(text), "{text}");
        }
        for text in [
            "sid=0123456789abcdef0123456789abcde",
            "sid=0123456789abcdef0123456789abcdefg",
            "session_id=17",
            "session_id=12345678901234567890",
            "session_id=an-introduction-to-rust-2021",
            "sessionid=internationalization",
            "s=0123456789abcdef",
            "xphpsessid=1",
        ] {
            assert!(!is(text), "{text}");
        }
        assert!(!is_session_id("cfid", "1", "cfid=1"));
    }
}
