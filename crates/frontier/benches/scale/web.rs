//! The stream of URLs: pages of links over hosts of which few are large and most are small, as on the web. Its seed is
//! fixed. A URL is a function of its number, so the bench keeps little beside the frontier.

use frontier::{Canonical, Found, FoundUrl};

const HOSTS: f64 = 50_000.0;
/// Links of a page.
pub const PAGE: usize = 20;

/// SplitMix64: small, seeded, good enough for a stream of hosts.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.unit() * end as f64) as usize
    }
}

/// The URLs so far: the host of each page that brought them. Page and place in it are a URL's number.
pub struct Web {
    pub random: Random,
    pub pages: Vec<u32>,
}

impl Web {
    /// The number of a new page.
    pub fn grow(&mut self) -> usize {
        let host = HOSTS.powf(self.random.unit()) as u32;
        self.pages.push(host);
        self.pages.len() - 1
    }

    pub fn url(&self, page: usize, place: usize) -> Canonical {
        let host = self.pages[page];
        // Sections in no order, their pages side by side.
        let section = Random(page as u64).next() as u32;
        let url = format!("https://www.site-{host}.com/articles/{section:08x}/page-{place}-of-{page}.html");
        Canonical::parse(&url).expect("a URL")
    }

    pub fn page(&self, page: usize) -> Found {
        found((0..PAGE).map(|place| self.url(page, place)))
    }
}

pub fn found(urls: impl Iterator<Item = Canonical>) -> Found {
    Found { urls: urls.map(|canonical| FoundUrl::new(canonical, 1)).collect(), ..Found::default() }
}
