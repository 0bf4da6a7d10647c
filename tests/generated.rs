//! A site of any number of hosts and pages, made from nothing but the two numbers.
//!
//! Not a server ([`web`](crate::web)). Invariant: page `n` of a host links to its pages `2n+1` and `2n+2`, so every page is
//! reachable from the host's page 0; further links, to pages of this and the next host, are all to pages that exist.

// Tests and a bench include this file, and each uses a part of it.
#![allow(dead_code)]

use crate::web::Page;

/// The hosts and how many pages each has.
#[derive(Debug, Clone, Copy)]
pub struct Generated {
    /// Number of hosts.
    pub hosts: usize,
    /// Pages of each host.
    pub pages: usize,
}

impl Generated {
    /// Name of a host. Each is a registrable domain of its own.
    pub fn host(host: usize) -> String {
        format!("site{host}.test")
    }

    /// Names of all hosts.
    pub fn names(self) -> Vec<String> {
        (0..self.hosts).map(Self::host).collect()
    }

    /// Page 0 of each host.
    pub fn seeds(self) -> Vec<String> {
        self.names().iter().map(|host| format!("http://{host}/0")).collect()
    }

    /// Every page there is.
    pub fn urls(self) -> Vec<String> {
        let pages = |host: String| (0..self.pages).map(move |page| format!("http://{host}/{page}"));
        self.names().into_iter().flat_map(pages).collect()
    }

    /// The page at a path of a host.
    pub fn page(self, host: &str, path: &str) -> Page {
        let host = host.strip_prefix("site").and_then(|name| name.strip_suffix(".test")?.parse::<usize>().ok());
        let page = path.strip_prefix('/').and_then(|text| text.parse::<usize>().ok());
        match (host, page) {
            (Some(host), Some(page)) if host < self.hosts && page < self.pages => Page::html(self.text(host, page)),
            _ => Page::missing(),
        }
    }

    fn text(self, host: usize, page: usize) -> String {
        let children = [2 * page + 1, 2 * page + 2].into_iter().filter(|child| *child < self.pages);
        let mut text = format!("<title>{page}</title><a href=/0>start</a>\n");
        for child in children {
            text.push_str(&format!("<a href=/{child}>{child}</a>\n"));
        }
        // Any numbers that are not always the same, so that most are links to pages seen before.
        let (near, far) = ((page * 7 + host) % self.pages, (page * 13 + 5) % self.pages);
        let next = Self::host((host + 1) % self.hosts);
        text.push_str(&format!("<a href=/{near}>near</a>\n<a href=http://{next}/{far}>far</a>\n"));
        text
    }
}
