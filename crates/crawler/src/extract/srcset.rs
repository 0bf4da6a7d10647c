//! The URLs of a `srcset` attribute.
//!
//! Not a choice among them. The steps are those of the HTML standard, section 4.8.4.2.2 "parsing a srcset attribute".
//! Invariant: a candidate with a descriptor that the standard calls an error is left out, whatever its URL.

/// Calls `take` with the URL of each valid candidate, in order.
pub(super) fn urls(value: &str, mut take: impl FnMut(&str)) {
    let mut rest = value;
    loop {
        rest = rest.trim_start_matches(|c| is_space(c) || c == ',');
        if rest.is_empty() {
            return;
        }
        let url_end = rest.find(is_space).unwrap_or(rest.len());
        let (url, after) = rest.split_at(url_end);
        let bare = url.trim_end_matches(',');
        let is_valid = if bare.len() < url.len() {
            rest = after;
            true
        } else {
            let (is_valid, after) = descriptors(after);
            rest = after;
            is_valid
        };
        if is_valid {
            take(bare);
        }
    }
}

/// The descriptors of one candidate: whether they are valid, and what follows the comma that ends them. A comma in
/// parentheses does not.
fn descriptors(text: &str) -> (bool, &str) {
    let mut seen = Descriptors::default();
    let (mut start, mut in_parens) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            ')' if in_parens => in_parens = false,
            _ if in_parens => {}
            '(' => in_parens = true,
            ',' => {
                seen.add(&text[start..at]);
                return (seen.is_valid(), &text[at + 1..]);
            }
            c if is_space(c) => {
                seen.add(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    seen.add(&text[start..]);
    (seen.is_valid(), "")
}

#[derive(Default)]
struct Descriptors {
    width: bool,
    density: bool,
    height: bool,
    error: bool,
}

impl Descriptors {
    fn add(&mut self, text: &str) {
        let Some(unit) = text.chars().next_back() else {
            return;
        };
        let number = &text[..text.len() - unit.len_utf8()];
        match unit {
            'w' if is_positive_integer(number) => {
                self.error |= self.width || self.density;
                self.width = true;
            }
            'x' if is_density(number) => {
                self.error |= self.width || self.density || self.height;
                self.density = true;
            }
            'h' if is_positive_integer(number) => {
                self.error |= self.height || self.density;
                self.height = true;
            }
            _ => self.error = true,
        }
    }

    fn is_valid(&self) -> bool {
        !self.error && (self.width || !self.height)
    }
}

fn is_positive_integer(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) && text.bytes().any(|byte| byte != b'0')
}

/// A "valid floating-point number" that is not below zero: no `+`, no `.` at the end.
fn is_density(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let is_digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let positive = mantissa.strip_prefix('-').unwrap_or(mantissa);
    let is_mantissa = match positive.split_once('.') {
        Some((whole, fraction)) => (whole.is_empty() || is_digits(whole)) && is_digits(fraction),
        None => is_digits(positive),
    };
    let is_exponent = exponent.is_none_or(|exponent| is_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)));
    is_mantissa && is_exponent && text.parse::<f64>().is_ok_and(|number| number >= 0.0)
}

/// ASCII white space by the Infra standard.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\x0c' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates() {
        let check = |value, want: &[&str]| {
            let mut got = Vec::new();
            urls(value, |url| got.push(url.to_owned()));
            assert_eq!(got, want, "{value:?}");
        };
        check("", &[]);
        check(" , ,", &[]);
        check("a", &["a"]);
        check("a,b", &["a,b"]);
        check("a, b 2x", &["a", "b"]);
        check("a 1x,b 2x", &["a", "b"]);
        check("a 100w 50h,b 50h", &["a"]);
        check("a 1x 2x, b 0w, c -1x, d 1.x, e +1x, f 1y", &[]);
        check("a 1e2x, b .5x, c -0x", &["a", "b", "c"]);
        check("a (x, y), b", &["b"]);
        check("data:,a,,, b", &["data:,a", "b"]);
        check("a\u{a0}b 1x", &["a\u{a0}b"]);
        check("a (never, closed, b", &[]);
    }
}
