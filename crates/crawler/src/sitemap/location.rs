//! Which URLs a sitemap may speak for: those on its host, in its directory and below (sitemaps.org, "Sitemap file
//! location").
//!
//! Not the exception (the entry's host says in its robots.txt that this sitemap speaks for it), which the worker knows.
//! Invariant: a pure function of two URLs.

use url::Url;

/// Where an entry lies, seen from its sitemap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// Where the sitemap may speak for it.
    Within,
    /// On its host, but outside of its directory.
    OutsideDirectory,
    /// On another host, or another port.
    OtherHost,
}

impl Location {
    /// Where `entry` lies, seen from `sitemap`. The scheme makes no difference, nor does the port where both have that of
    /// their scheme.
    pub fn of(sitemap: &Url, entry: &Url) -> Location {
        let host = |url: &Url| url.host_str().map(|host| host.strip_suffix('.').unwrap_or(host).to_owned());
        if host(sitemap) != host(entry) || sitemap.port() != entry.port() {
            return Location::OtherHost;
        }
        let directory = &sitemap.path()[..sitemap.path().rfind('/').map_or(0, |slash| slash + 1)];
        if entry.path().starts_with(directory) { Location::Within } else { Location::OutsideDirectory }
    }

    /// Its name in what `inspect` prints.
    pub fn name(self) -> &'static str {
        match self {
            Location::Within => "within",
            Location::OutsideDirectory => "outside_directory",
            Location::OtherHost => "other_host",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sitemap_speaks_for_its_directory() {
        let check = |sitemap: &str, entry: &str, want: Location| {
            let url = |text: &str| Url::parse(text).expect("a URL");
            assert_eq!(Location::of(&url(sitemap), &url(entry)), want, "{sitemap} {entry}");
        };
        check("http://a.test/sitemap.xml", "http://a.test/", Location::Within);
        check("http://a.test/sitemap.xml", "https://a.test/x/y?z", Location::Within);
        check("http://a.test:80/sitemap.xml", "https://a.test.:443/x", Location::Within);
        check("http://a.test/b/sitemap.xml", "http://a.test/b/c", Location::Within);
        check("http://a.test/b/sitemap.xml", "http://a.test/b", Location::OutsideDirectory);
        check("http://a.test/b/sitemap.xml", "http://a.test/bc", Location::OutsideDirectory);
        check("http://a.test/index.php?route=b/sitemap", "http://a.test/c", Location::Within);
        check("http://a.test/s.xml", "http://www.a.test/", Location::OtherHost);
        check("http://a.test/s.xml", "http://a.test:8080/", Location::OtherHost);
        check("http://a.test/s.xml", "mailto:x@a.test", Location::OtherHost);
    }
}
