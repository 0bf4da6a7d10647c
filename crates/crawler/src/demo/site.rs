//! The small website of `crawld demo` and of the tests, compiled in from `tests/site`.
//!
//! Not a server. Invariant: `PAGES` is sorted by path, names each path once, and holds every
//! file of the directory; an `index.html` is also there under the path of its folder.

macro_rules! page {
    ($path:literal, $content_type:literal, $file:literal) => {
        ($path, $content_type, include_bytes!(concat!("../../../../tests/site/", $file)).as_slice())
    };
}

/// The site: path, content type, body. A path that is not here is a 404; a query string is
/// not part of the path.
pub const PAGES: &[(&str, &str, &[u8])] = &[
    page!("/", "text/html", "index.html"),
    page!("/about.html", "text/html", "about.html"),
    page!("/embedded.html", "text/html", "embedded.html"),
    page!("/frames.html", "text/html", "frames.html"),
    page!("/guide/", "text/html", "guide/index.html"),
    page!("/guide/frame.html", "text/html", "guide/frame.html"),
    page!("/guide/glue.html", "text/html", "guide/glue.html"),
    page!("/guide/index.html", "text/html", "guide/index.html"),
    page!("/guide/light.html", "text/html", "guide/light.html"),
    page!("/guide/paper.html", "text/html", "guide/paper.html"),
    page!("/index.html", "text/html", "index.html"),
    page!("/licence.html", "text/html", "licence.html"),
    page!("/news/2023/", "text/html", "news/2023/index.html"),
    page!("/news/2023/archive.html", "text/html", "news/2023/archive.html"),
    page!("/news/2023/index.html", "text/html", "news/2023/index.html"),
    page!("/news/2024/01/", "text/html", "news/2024/01/index.html"),
    page!("/news/2024/01/index.html", "text/html", "news/2024/01/index.html"),
    page!("/news/2024/01/lamp-fair.html", "text/html", "news/2024/01/lamp-fair.html"),
    page!("/old/END.html", "text/html", "old/END.html"),
    page!("/old/menu.html", "text/html", "old/menu.html"),
    page!("/old/start.html", "text/html", "old/start.html"),
    page!("/open.html", "text/html", "open.html"),
    page!("/private/drafts.html", "text/html", "private/drafts.html"),
    page!("/private/open/", "text/html", "private/open/index.html"),
    page!("/private/open/index.html", "text/html", "private/open/index.html"),
    page!("/private/secret.html", "text/html", "private/secret.html"),
    page!("/reference/", "text/html", "reference/index.html"),
    page!("/reference/candles.html", "text/html", "reference/candles.html"),
    page!("/reference/glue.html", "text/html", "reference/glue.html"),
    page!("/reference/index.html", "text/html", "reference/index.html"),
    page!("/reference/lamps.html", "text/html", "reference/lamps.html"),
    page!("/reference/paper.html", "text/html", "reference/paper.html"),
    page!("/reference/umlaut.html", "text/html", "reference/umlaut.html"),
    page!("/reference/wicks.html", "text/html", "reference/wicks.html"),
    page!("/robots.txt", "text/plain; charset=utf-8", "robots.txt"),
    page!("/search", "text/html", "search"),
    page!("/style.css", "text/css", "style.css"),
    page!("/tricky.html", "text/html", "tricky.html"),
    page!("/tricky/UPPER.html", "text/html", "tricky/UPPER.html"),
    page!("/tricky/back/slash.html", "text/html", "tricky/back/slash.html"),
    page!("/tricky/dots.html", "text/html", "tricky/dots.html"),
    page!("/tricky/first.html", "text/html", "tricky/first.html"),
    page!("/tricky/quotes.html", "text/html", "tricky/quotes.html"),
    page!("/tricky/svg.html", "text/html", "tricky/svg.html"),
    page!("/tricky/unquoted.html", "text/html", "tricky/unquoted.html"),
    page!("/tricky/whitespace.html", "text/html", "tricky/whitespace.html"),
];

/// The content type and body at `path` (without query), if the site has it.
pub fn page(path: &str) -> Option<(&'static str, &'static [u8])> {
    let at = PAGES.binary_search_by_key(&path, |page| page.0).ok()?;
    Some((PAGES[at].1, PAGES[at].2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    fn files(folder: &Path, found: &mut BTreeSet<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the site's folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                files(&path, found);
            } else {
                found.insert(path);
            }
        }
    }

    #[test]
    fn the_table_is_sorted_and_complete() {
        assert!(PAGES.is_sorted_by(|one, next| one.0 < next.0));
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/site");
        let mut on_disk = BTreeSet::new();
        files(&root, &mut on_disk);
        let path = |page: &(&str, &str, &[u8])| root.join(&page.0[1..]);
        let in_table: BTreeSet<PathBuf> = PAGES.iter().filter(|page| !page.0.ends_with('/')).map(path).collect();
        assert_eq!(in_table, on_disk);
    }

    #[test]
    fn pages_are_found_by_path() {
        assert_eq!(page("/"), page("/index.html"));
        assert_eq!(page("/guide/").map(|page| page.0), Some("text/html"));
        assert_eq!(page("/missing.html"), None);
        assert_eq!(page("/guide"), None);
    }
}
