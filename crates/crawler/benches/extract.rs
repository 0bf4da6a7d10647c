//! Speed of link extraction, in bytes of HTML per second, over the test site.

use crawler::demo::site::PAGES;
use crawler::extract::{Extractor, Settings};
use divan::counter::BytesCount;
use url::Url;

fn main() {
    divan::main();
}

/// Bytes of a piece, as they come from a socket.
const PIECE_BYTES: usize = 16 << 10;

fn site() -> Vec<&'static [u8]> {
    let is_html = |page: &&(&str, &'static str, &[u8])| page.1 == "text/html";
    PAGES.iter().filter(is_html).map(|page| page.2).collect()
}

fn bytes(pages: &[&[u8]]) -> BytesCount {
    BytesCount::new(pages.iter().map(|page| page.len()).sum::<usize>())
}

fn extract(base: &Url, body: &[u8]) -> usize {
    let mut extractor = Extractor::new(base, Settings::default(), None);
    body.chunks(PIECE_BYTES).for_each(|piece| extractor.write(piece));
    extractor.finish().link_count()
}

/// Each small page by itself: what starting a parser costs shows here.
#[divan::bench]
fn single_pages(bencher: divan::Bencher<'_, '_>) {
    let base = Url::parse("http://site.test/").expect("valid");
    let pages = site();
    bencher.counter(bytes(&pages)).bench(|| pages.iter().map(|page| extract(&base, page)).sum::<usize>());
}

/// All pages as one, 20 times over: nearly all links are repeats.
#[divan::bench]
fn one_long_page(bencher: divan::Bencher<'_, '_>) {
    let base = Url::parse("http://site.test/").expect("valid");
    let long = site().concat().repeat(20);
    bencher.counter(BytesCount::new(long.len())).bench(|| extract(&base, &long));
}
