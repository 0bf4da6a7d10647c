//! The growth guard: a host whose new URLs keep leading nowhere is slowed, and an operator is told.
//!
//! What is watched, per host, at the end of each of its pages, in some 90 bytes:
//!
//! * **Near-identical pages.** Of the text of a page the crawler makes a [`TextSketch`]. Those of the last [`SKETCHES`]
//!   different pages are kept. A page that is near one of them *and* brought new URLs of its own host adds one to a score; a
//!   page unlike all of them takes [`UNLIKE`] off. So the score only grows where more than four of five pages that make the
//!   site larger say nothing new; pages that are alike but lead to nothing new (stubs in a documentation) do not count.
//! * **Ever-new query strings.** A majority vote (Boyer and Moore, 1981) over the new URLs that the host's own pages
//!   brought, one for the path and one for the names of the query's parameters: the lead of one path, or of one set of
//!   names, over all other new URLs together.
//!
//! When a score or a lead comes to its limit the host is slowed: its delay is multiplied, up to a cap, and never shorter
//! than it was. Nothing is lost, and nothing refused. It is for an operator to say that the host is well ([`unslow`](crate::Frontier::unslow)); then it is left alone for good.
//!
//! Not the sketch of a page (the crawler makes it). Invariant: all of it is part of the host's state, written with the
//! page's completion, so it is as durable as that.

use crate::record::HostState;
use crate::wire::{Reader, WireError, Writer};

/// Sketches kept of a host: a calendar has twelve kinds of pages, and some around them.
pub(crate) const SKETCHES: usize = 16;
/// What a page unlike the others takes off the score.
const UNLIKE: u32 = 4;

/// A 32-bit SimHash of a page's text. Two texts at an angle of θ have the same one with a probability of (1 - θ/π)³²: 36 % if
/// one word of 200 differs, 4 % if ten of 210 do.
///
/// Charikar, "Similarity estimation techniques from rounding algorithms" (STOC 2002); for pages of the web see Manku, Jain
/// and Das Sarma, "Detecting near-duplicates for web crawling" (WWW 2007). They let 3 of 64 bits differ: with several
/// sketches to be compared with, that takes pages from one template for the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextSketch(pub u32);

impl TextSketch {
    /// Whether two texts are taken for nearly the same.
    pub fn is_near(self, other: Self) -> bool {
        self == other
    }
}

/// When a host is slowed, and how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrowthGuard {
    /// Whether any is.
    pub enabled: bool,
    /// Near-identical pages with new URLs, those unlike the others counted off.
    pub max_similar_pages: u32,
    /// New URLs by which one path, or one set of parameter names, leads all others of the host.
    pub max_query_urls: u32,
    /// By how much the delay is multiplied; a second counts where it is shorter.
    pub slow_factor: u32,
    /// Longest delay that this comes to, in milliseconds.
    pub max_delay_ms: u64,
}

impl Default for GrowthGuard {
    fn default() -> Self {
        Self { enabled: true, max_similar_pages: 1_000, max_query_urls: 100_000, slow_factor: 10, max_delay_ms: 60_000 }
    }
}

impl GrowthGuard {
    /// The delay of a slowed host whose own would be this one, both in milliseconds.
    pub fn slowed_ms(&self, delay_ms: u64) -> u64 {
        delay_ms.max(1_000).saturating_mul(u64::from(self.slow_factor)).min(self.max_delay_ms).max(delay_ms)
    }
}

/// Why a host was slowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Slowed {
    /// Its new URLs keep yielding near-identical pages.
    SimilarPages = 1,
    /// Its pages bring ever-new query strings of one path, or of the same parameters.
    QueryStrings = 2,
}

impl Slowed {
    /// Every reason.
    pub const ALL: [Self; 2] = [Self::SimilarPages, Self::QueryStrings];

    /// Its word in logs and exports.
    pub fn name(self) -> &'static str {
        match self {
            Self::SimilarPages => "similar_pages",
            Self::QueryStrings => "query_strings",
        }
    }
}

/// What an operator said of a host.
const TRUSTED: u8 = 255;

/// The lead of one candidate over all others together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Lead {
    candidate: u32,
    votes: u32,
}

impl Lead {
    fn vote(&mut self, candidate: Option<u32>) {
        match candidate {
            Some(candidate) if self.votes == 0 => *self = Self { candidate, votes: 1 },
            Some(candidate) if candidate == self.candidate => self.votes = self.votes.saturating_add(1),
            _ => self.votes = self.votes.saturating_sub(1),
        }
    }
}

/// What is remembered of a host's growth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Growth {
    /// Zero, a [`Slowed`], or [`TRUSTED`].
    verdict: u8,
    score: u32,
    path: Lead,
    names: Lead,
    /// Latest first; zero is none.
    sketches: [u32; SKETCHES],
}

impl Growth {
    /// Why the host is slowed, if it is.
    pub(crate) fn slowed(&self) -> Option<Slowed> {
        Slowed::ALL.into_iter().find(|slowed| *slowed as u8 == self.verdict)
    }

    /// Whether an operator has said that the host is well.
    pub(crate) fn is_trusted(&self) -> bool {
        self.verdict == TRUSTED
    }

    /// The host is left alone for good.
    pub(crate) fn trusted() -> Self {
        Self { verdict: TRUSTED, ..Self::default() }
    }

    /// Takes in a page of the host and the URLs of the host that it brought and nobody knew. Returns why the host is slowed
    /// from now on, if it was not before.
    pub(crate) fn page<'a>(
        &mut self,
        sketch: Option<TextSketch>,
        new_urls: impl Iterator<Item = &'a str>,
        guard: &GrowthGuard,
    ) -> Option<Slowed> {
        if !guard.enabled || self.verdict != 0 {
            return None;
        }
        let mut brought = false;
        for url in new_urls {
            brought = true;
            let query = url.split_once('?');
            self.path.vote(query.map(|(path, _)| crc32fast::hash(path.as_bytes())));
            self.names.vote(query.map(|(_, query)| names(query)));
        }
        if let Some(sketch) = sketch {
            self.judge(sketch, brought);
        }
        let slowed = if self.score >= guard.max_similar_pages {
            Slowed::SimilarPages
        } else if self.path.votes.max(self.names.votes) >= guard.max_query_urls {
            Slowed::QueryStrings
        } else {
            return None;
        };
        // The evidence has done its work.
        *self = Self { verdict: slowed as u8, ..Self::default() };
        Some(slowed)
    }

    fn judge(&mut self, sketch: TextSketch, brought: bool) {
        // Zero is none: the one text in four billion that has it counts as its neighbour.
        let sketch = TextSketch(sketch.0.max(1));
        let near = self.sketches.iter().position(|kept| *kept != 0 && TextSketch(*kept).is_near(sketch));
        match near {
            Some(_) if brought => self.score = self.score.saturating_add(1),
            Some(_) => {}
            None => self.score = self.score.saturating_sub(UNLIKE),
        }
        self.sketches[..=near.unwrap_or(SKETCHES - 1)].rotate_right(1);
        self.sketches[0] = sketch.0;
    }

    pub(crate) fn encode(&self, out: &mut Writer) {
        let Self { verdict, score, path, names, sketches } = self;
        let is_new = *self == Self::default();
        out.byte(u8::from(!is_new));
        if is_new {
            return;
        }
        out.byte(*verdict);
        [score, &path.candidate, &path.votes, &names.candidate, &names.votes]
            .into_iter()
            .for_each(|n| out.varint(u64::from(*n)));
        let count = sketches.iter().take_while(|sketch| **sketch != 0).count();
        out.byte(count as u8);
        sketches[..count].iter().for_each(|sketch| out.varint(u64::from(*sketch)));
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        if input.byte()? == 0 {
            return Ok(Self::default());
        }
        let mut growth = Self { verdict: input.byte()?, score: input.narrow()?, ..Self::default() };
        growth.path = Lead { candidate: input.narrow()?, votes: input.narrow()? };
        growth.names = Lead { candidate: input.narrow()?, votes: input.narrow()? };
        let count = usize::from(input.byte()?);
        let kept = growth.sketches.get_mut(..count).ok_or(WireError("too many sketches"))?;
        for sketch in kept {
            *sketch = input.narrow()?;
        }
        Ok(growth)
    }

    /// As text, for an export.
    pub(crate) fn to_text(self) -> Option<String> {
        let mut out = Writer::default();
        self.encode(&mut out);
        let bytes = out.into_bytes();
        (bytes.len() > 1).then(|| bytes[1..].iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Reads what [`Growth::to_text`] has written.
    pub(crate) fn from_text(text: &str) -> Result<Self, WireError> {
        let digits = |at: usize| text.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
        let bytes: Option<Vec<u8>> = (0..text.len()).step_by(2).map(digits).collect();
        let bytes = [&[1][..], &bytes.ok_or(WireError("not in hexadecimal digits"))?].concat();
        let mut input = Reader::new(&bytes);
        let growth = Self::decode(&mut input)?;
        match input.is_empty() && growth.to_text().as_deref() == Some(text) {
            true => Ok(growth),
            false => Err(WireError("not as it is written")),
        }
    }

    /// Of two words on a host: an operator's, then that it is slowed, then the one with more evidence.
    pub(crate) fn further(self, other: Self) -> Self {
        let rank = |growth: &Self| (growth.verdict, growth.score, growth.path.votes.max(growth.names.votes));
        if rank(&other) > rank(&self) { other } else { self }
    }
}

/// The same for the same names in any order.
fn names(query: &str) -> u32 {
    let name = |part: &str| crc32fast::hash(part.split('=').next().unwrap_or_default().as_bytes());
    query.split('&').map(name).fold(1, u32::wrapping_add)
}

/// Puts the next slot of a slowed host as far ahead as the guard says.
pub(crate) fn slow(host: &mut HostState, ended: u64, delay_ms: u64, guard: &GrowthGuard) {
    if guard.enabled && host.growth.slowed().is_some() {
        host.next_slot = host.next_slot.max(ended + guard.slowed_ms(delay_ms));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUARD: GrowthGuard = GrowthGuard {
        enabled: true,
        max_similar_pages: 50,
        max_query_urls: 500,
        slow_factor: 10,
        max_delay_ms: 60_000,
    };

    /// Pages until the host is slowed, up to 2,000.
    fn pages(page: impl Fn(u32) -> (u32, Vec<String>)) -> Option<(u32, Slowed)> {
        let mut growth = Growth::default();
        (0..2_000).find_map(|n| {
            let (sketch, urls) = page(n);
            Some((n, growth.page(Some(TextSketch(sketch)), urls.iter().map(String::as_str), &GUARD)?))
        })
    }

    /// A sketch like that of an unrelated text.
    fn text(n: u32) -> u32 {
        crc32fast::hash(&n.to_be_bytes())
    }

    #[test]
    fn a_calendar_without_end_is_slowed() {
        let month = |n: u32| (text(n % 12), vec![format!("http://a.test/cal?month={}&year={}", n % 12, 2000 + n / 12)]);
        assert_eq!(pages(month), Some((61, Slowed::SimilarPages)));
        let in_the_path = |n: u32| (text(n % 12), vec![format!("http://a.test/cal/{}/{}", 2000 + n / 12, n % 12)]);
        assert!(pages(in_the_path).is_some_and(|(n, slowed)| n < 400 && slowed == Slowed::SimilarPages));
    }

    #[test]
    fn ever_new_query_strings_are_slowed_whatever_the_pages_say() {
        let search =
            |n: u32| (text(n), vec![format!("http://a.test/find?q={n}"), format!("http://a.test/find?page=1&q={n}")]);
        assert_eq!(pages(search), Some((249, Slowed::QueryStrings)));
        let sessions = |n: u32| {
            (text(n), vec![format!("http://a.test/{}?sid={n}", n % 100), format!("http://a.test/x{n}?sid=1{n}")])
        };
        assert_eq!(pages(sessions), Some((249, Slowed::QueryStrings)));
    }

    #[test]
    fn different_pages_stubs_and_mixed_sites_are_left_alone() {
        assert_eq!(pages(|n| (text(n), vec![format!("http://a.test/{n}")])), None, "pages unlike each other");
        assert_eq!(pages(|_| (7, vec![])), None, "stubs that lead nowhere");
        let half = |n: u32| (if n.is_multiple_of(2) { 7 } else { text(n) }, vec![format!("http://a.test/{n}?page=1")]);
        assert_eq!(pages(|n| (half(n).0, vec![format!("http://a.test/{n}")])), None, "half of them new");
        let mixed = |n: u32| (text(n), vec![format!("http://a.test/a?id={n}"), format!("http://a.test/b/{n}")]);
        assert_eq!(pages(mixed), None, "as many paths as queries");
    }

    #[test]
    fn a_slowed_host_is_never_asked_faster_than_before() {
        assert_eq!(
            [0, 500, 2_000, 20_000, 90_000].map(|ms| GUARD.slowed_ms(ms)),
            [10_000, 10_000, 20_000, 60_000, 90_000]
        );
        let mut growth = Growth { verdict: Slowed::QueryStrings as u8, ..Growth::default() };
        let mut host = HostState { next_slot: 99_000, growth, ..HostState::default() };
        slow(&mut host, 1_000, 500, &GUARD);
        assert_eq!(host.next_slot, 99_000);
        slow(&mut host, 95_000, 500, &GUARD);
        assert_eq!(host.next_slot, 105_000);
        growth = Growth::trusted();
        assert_eq!(
            (0..9_000).find_map(|_| growth.page(Some(TextSketch(1)), ["http://a.test/?a"].into_iter(), &GUARD)),
            None
        );
    }

    #[test]
    fn it_survives_the_wire_and_an_export() {
        let mut growth = Growth::default();
        assert_eq!(growth.to_text(), None);
        for n in 0..40 {
            growth.page(Some(TextSketch(text(n % 20))), ["http://a.test/?a"].into_iter(), &GUARD);
            let mut out = Writer::default();
            growth.encode(&mut out);
            assert_eq!(Growth::decode(&mut Reader::new(&out.into_bytes())), Ok(growth));
            assert_eq!(Growth::from_text(&growth.to_text().expect("some")), Ok(growth));
        }
        for bad in ["", "0", "00", "zz", "ff0000000000000", "é0", "ff00000000000000"] {
            assert!(Growth::from_text(bad).is_err(), "{bad}");
        }
        assert_eq!(Growth::trusted().further(growth), Growth::trusted());
        assert_eq!(growth.further(Growth::default()), growth);
    }
}
