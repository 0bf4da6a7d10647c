//! Sketches of a page's text, made while the body arrives: one for the frontier's growth guard, and where it is wanted a
//! SimHash for [`duplicates`](crate::duplicates).
//!
//! Words are what is between tags; scripts, styles and comments are left out. A word with a digit in it counts as any other
//! such: dates, counters and session ids do not make a page another one. Case of ASCII letters is folded. The encoding is
//! not looked at: bytes above 127 are letters. Not a parser: where a page is broken, its sketch is of something else, and
//! the same for the same page. Invariant: the pieces in which a body arrives do not change it; memory is fixed.

use frontier::TextSketch;

/// FNV-1a, 32 bits (Fowler, Noll, Vo).
const FNV_OFFSET: u32 = 0x811c_9dc5;
const FNV_PRIME: u32 = 0x0100_0193;
/// Letters of a tag's name that are kept.
const NAME_BYTES: usize = 8;

/// Words that a text must have for its SimHash to say anything.
const MIN_SIMHASH_WORDS: u64 = 32;

/// The SimHash of a text (Charikar 2002): each bit is that of most of its words' hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimHash(pub u64);

/// Makes the sketches of a page.
#[derive(Debug)]
pub struct Sketcher {
    /// For each bit, by how many more words have it set than not.
    balance: [i32; 32],
    /// The same for the SimHash.
    simhash: Option<Box<[i32; 64]>>,
    words: u64,
    place: Place,
    word: Option<u32>,
    has_digit: bool,
    name: [u8; NAME_BYTES],
    name_bytes: usize,
    /// The element whose text is none, while in it.
    hidden: Option<&'static [u8]>,
    /// Dashes in a row, in a comment.
    dashes: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Text,
    TagName,
    Tag,
    Comment,
}

impl Default for Sketcher {
    fn default() -> Self {
        Self {
            balance: [0; 32],
            simhash: None,
            words: 0,
            place: Place::Text,
            word: None,
            has_digit: false,
            name: [0; NAME_BYTES],
            name_bytes: 0,
            hidden: None,
            dashes: 0,
        }
    }
}

impl Sketcher {
    /// With a SimHash.
    pub fn with_simhash(self) -> Self {
        Self { simhash: Some(Box::new([0; 64])), ..self }
    }

    /// Takes in the next piece of the body.
    pub fn write(&mut self, mut piece: &[u8]) {
        while let [byte, rest @ ..] = piece {
            // Most bytes are of tags and of words: each at a stretch.
            match self.place {
                Place::Text if self.hidden.is_some() && *byte != b'<' => {
                    self.end_word();
                    piece = &piece[memchr::memchr(b'<', piece).unwrap_or(piece.len())..];
                    continue;
                }
                Place::Text if is_letter(*byte) => {
                    piece = self.letters(piece);
                    continue;
                }
                Place::Tag => {
                    let Some(end) = memchr::memchr(b'>', piece) else { return };
                    self.place = Place::Text;
                    piece = &piece[end + 1..];
                    continue;
                }
                Place::Text => self.text(*byte),
                Place::TagName => self.tag_name(*byte),
                Place::Comment => self.comment(*byte),
            }
            piece = rest;
        }
    }

    /// The sketch, `None` of a page without a word; and the SimHash, `None` of a page with few.
    pub fn finish(mut self) -> (Option<TextSketch>, Option<SimHash>) {
        self.end_word();
        let set = |balance: &[i32]| balance.iter().rev().fold(0, |bits, balance| bits << 1 | u64::from(*balance > 0));
        let sketch = TextSketch(u32::try_from(set(&self.balance)).expect("32 bits"));
        let simhash = self.simhash.filter(|_| self.words >= MIN_SIMHASH_WORDS);
        ((self.words > 0).then_some(sketch), simhash.map(|balance| SimHash(set(&balance[..]))))
    }

    /// Takes the letters with which a text starts; what follows them.
    fn letters<'a>(&mut self, text: &'a [u8]) -> &'a [u8] {
        let (mut word, mut has_digit) = (self.word.unwrap_or(FNV_OFFSET), self.has_digit);
        let end = text.iter().position(|byte| !is_letter(*byte)).unwrap_or(text.len());
        for byte in &text[..end] {
            has_digit |= byte.is_ascii_digit();
            word = (word ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(FNV_PRIME);
        }
        (self.word, self.has_digit) = (Some(word), has_digit);
        &text[end..]
    }

    fn text(&mut self, byte: u8) {
        if byte == b'<' {
            self.end_word();
            (self.place, self.name_bytes) = (Place::TagName, 0);
        } else if self.hidden.is_none() && is_letter(byte) {
            self.letters(&[byte]);
        } else {
            self.end_word();
        }
    }

    fn tag_name(&mut self, byte: u8) {
        let is_part = byte.is_ascii_alphanumeric() || b"/!-".contains(&byte);
        if is_part && self.name_bytes < NAME_BYTES {
            self.name[self.name_bytes] = byte.to_ascii_lowercase();
            self.name_bytes += 1;
            let name = &self.name[..self.name_bytes];
            match self.hidden {
                // A script knows no tag but its end.
                Some(hidden) if !(name[0] == b'/' && hidden.starts_with(&name[1..])) => self.place = Place::Text,
                None if name == b"!--" => (self.place, self.dashes) = (Place::Comment, 0),
                _ => {}
            }
            return;
        }
        if self.name_bytes == 0 {
            // A lone `<` is text.
            self.place = Place::Text;
            return self.text(byte);
        }
        let name = &self.name[..self.name_bytes];
        self.hidden = match self.hidden {
            Some(hidden) if name.strip_prefix(b"/") == Some(hidden) => None,
            None => [&b"script"[..], b"style"].into_iter().find(|hidden| *hidden == name),
            within => within,
        };
        self.place = if byte == b'>' { Place::Text } else { Place::Tag };
    }

    fn comment(&mut self, byte: u8) {
        match byte {
            b'-' => self.dashes = self.dashes.saturating_add(1),
            b'>' if self.dashes >= 2 => self.place = Place::Text,
            _ => self.dashes = 0,
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        let word = if std::mem::take(&mut self.has_digit) { 0 } else { word };
        // Of a text of so many words more say nothing new, and no balance overflows.
        if self.words == i32::MAX as u64 {
            return;
        }
        self.words += 1;
        weigh(&mut self.balance, mixed(word).into());
        if let Some(balance) = &mut self.simhash {
            weigh(&mut balance[..], mixed_long(word));
        }
    }
}

fn weigh(balance: &mut [i32], word: u64) {
    for (bit, balance) in balance.iter_mut().enumerate() {
        *balance += ((word >> bit & 1) as i32) * 2 - 1;
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte > 127
}

/// Spreads a hash over 64 bits (the last steps of SplitMix64, Steele et al. 2014).
fn mixed_long(hash: u32) -> u64 {
    let mut hash = u64::from(hash).wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

/// Spreads a hash over all bits (the last steps of MurmurHash3, Appleby).
fn mixed(mut hash: u32) -> u32 {
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x85eb_ca6b);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(page: &str) -> Option<TextSketch> {
        let mut sketcher = Sketcher::default().with_simhash();
        sketcher.write(page.as_bytes());
        let whole = sketcher.finish();
        let mut sketcher = Sketcher::default().with_simhash();
        page.as_bytes().iter().for_each(|byte| sketcher.write(&[*byte]));
        assert_eq!(sketcher.finish(), whole, "in pieces");
        whole.0
    }

    #[test]
    fn only_words_of_the_text_count() {
        let plain = sketch("one two");
        for page in [
            "<p class='three'>One</p> two",
            "<script>four < five</script>one<style>p{}</style>,two<!-- six > seven -->",
            "<SCRIPT src=x></SCRIPT>one<br>two<script>",
            "<scripts>one</scripts> two<!---->",
        ] {
            assert_eq!(sketch(page), plain, "{page}");
        }
        assert_ne!(sketch("one three"), plain);
        assert_eq!(sketch("<p><img src=x></p> ... <!-- no word -->"), None);
    }

    #[test]
    fn numbers_and_ids_are_all_one() {
        assert_eq!(sketch("session a81f0 of 2026"), sketch("session 77c1 of 1"));
        assert_ne!(sketch("session a81f0 of 2026"), sketch("session of"));
    }

    #[test]
    fn alike_pages_are_near_and_templated_ones_are_not() {
        // Word number n, without digits.
        let word = |n: u32| (0..5).map(|i| char::from(b'a' + (n / 10u32.pow(i) % 10) as u8)).collect::<String>() + " ";
        let template: String = (0..200).map(word).collect();
        // Pages of 200 words of a template and some of their own: which of 100 pairs are near?
        let near = |own: u32| {
            let page =
                |n: u32| sketch(&(template.clone() + &(0..own).map(|i| word(1000 + n * own + i)).collect::<String>()));
            let is_near = |n: &u32| page(2 * n).zip(page(2 * n + 1)).is_some_and(|(one, other)| one.is_near(other));
            (0..100).filter(is_near).count()
        };
        assert!(near(1) > 20, "one word of 201: {}", near(1));
        assert!(near(10) < 20, "10 words of 210: {}", near(10));
        assert!(near(40) < 3, "40 words of 240: {}", near(40));
    }
}
