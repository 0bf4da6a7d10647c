//! Speed of link extraction, in bytes of HTML per second: over the test site, and over real documentation where it is
//! installed (Debian's openjdk-17-doc, or the folder that `CRAWLD_BENCH_PAGES` names).
//!
//! Of openjdk-17-doc, on one core of a small cloud machine: 189 MB/s by default, 115 MB/s for all kinds of links.

use crawler::demo::site::PAGES;
use crawler::extract::{Extractor, LinkKind, Settings};
use divan::counter::BytesCount;
use std::fs;
use std::path::{Path, PathBuf};
use url::Url;

fn main() {
    divan::main();
}

/// Bytes of a piece, as they come from a socket.
const PIECE_BYTES: usize = 16 << 10;

/// Bytes of documentation that are read.
const DOCUMENTATION_BYTES: usize = 64 << 20;

fn site() -> Vec<&'static [u8]> {
    let is_html = |page: &&(&str, &'static str, &[u8])| page.1 == "text/html";
    PAGES.iter().filter(is_html).map(|page| page.2).collect()
}

/// HTML files below a folder, in a fixed order.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && !path.is_symlink() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "html") {
            found.push(path);
        }
    }
}

fn documentation() -> Vec<Vec<u8>> {
    let folder = std::env::var_os("CRAWLD_BENCH_PAGES").unwrap_or_else(|| "/usr/share/doc/openjdk-17-doc/api".into());
    let mut found = Vec::new();
    pages(Path::new(&folder), &mut found);
    let mut bytes = 0;
    let read = found.iter().map(|path| fs::read(path).expect("a page"));
    read.take_while(|page| {
        bytes += page.len();
        bytes < DOCUMENTATION_BYTES
    })
    .collect()
}

fn bytes<T: AsRef<[u8]>>(pages: &[T]) -> BytesCount {
    BytesCount::new(pages.iter().map(|page| page.as_ref().len()).sum::<usize>())
}

fn extract(base: &Url, settings: Settings, body: &[u8]) -> usize {
    let mut extractor = Extractor::new(base, settings, None);
    body.chunks(PIECE_BYTES).for_each(|piece| extractor.write(piece));
    extractor.finish().link_count()
}

fn base() -> Url {
    Url::parse("http://site.test/").expect("valid")
}

/// Each small page by itself: what starting a parser costs shows here.
#[divan::bench]
fn single_pages(bencher: divan::Bencher<'_, '_>) {
    let (base, pages) = (base(), site());
    let settings = Settings::default();
    bencher.counter(bytes(&pages)).bench(|| pages.iter().map(|page| extract(&base, settings, page)).sum::<usize>());
}

/// All pages as one, 20 times over: nearly all links are repeats.
#[divan::bench]
fn one_long_page(bencher: divan::Bencher<'_, '_>) {
    let base = base();
    let long = site().concat().repeat(20);
    bencher.counter(BytesCount::new(long.len())).bench(|| extract(&base, Settings::default(), &long));
}

/// Real documentation: the links that are followed by default, and all kinds of links.
#[divan::bench(args = ["default", "all kinds"], sample_count = 3, sample_size = 1)]
fn documentation_pages(bencher: divan::Bencher<'_, '_>, links: &str) {
    let (base, pages) = (base(), documentation());
    let mut settings = Settings::default();
    if links != "default" {
        settings.links = LinkKind::ALL.into_iter().collect();
    }
    bencher.counter(bytes(&pages)).bench(|| pages.iter().map(|page| extract(&base, settings, page)).sum::<usize>());
}
