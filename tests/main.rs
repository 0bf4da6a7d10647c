//! The whole daemon, from outside: the real binary as a child process, web servers on loopback, the files it leaves.
//!
//! | module | what must hold |
//! |---|---|
//! | `site_crawl` | every reachable page once, nothing that robots.txt denies, counters equal to the access log |
//! | `kills` | `kill -9` at random moments: nothing lost, little fetched twice, no host asked too soon |
//! | `growth` | sites that grow without end: slowed, named, released by an operator; others left alone |
//! | `many_hosts` | many hosts in parallel, each politely |
//! | `hostile` | a server that does everything wrong: each answer has a named outcome, memory stays bounded |
//! | `disk_guard` | no room on the disk: the crawl pauses, says why, and resumes |
//! | `stopping` | SIGTERM: an orderly end, and no page twice; a second one: at once, and nothing lost |
//! | `control` | a directory in use, and the same answers from a running and from a stopped crawl |
//! | `explain` | what is told of a URL, running and stopped, whatever has become of it |
//! | `recrawl` | pages are visited again: on a condition, sooner or later by what they were, and never unless asked |
//! | `moving` | forget, export and import, running and stopped, and what bad files come to |
//! | `complaints` | what users of other crawlers complained of: where each is put to the test |
//! | `rekey` | other canonical rules: refused, taken over by one command, killed in the middle, and nothing lost |
//! | `robots_memory` | robots.txt is known after a restart, and asked for anew as little as can be |
//! | `sitemaps` | pages that only sitemaps know, what a sitemap may not speak for, a kill in the middle |
//! | `archive` | WARC and JSON Lines: `kill -9` at random moments, and no fetched page without its record |
//! | `command_line` | config, seeds, inspect, help |
//! | `structure` | who may name what, and where files may be |
//!
//! Beside them: `harness` starts, ends and reads the daemon, `web` serves pages, `generated` says what the pages of a site
//! of any size are, `hostile_server` serves what no server should, `warc_reader` reads
//! archives.
//!
//! Not unit tests: those are beside the code. Invariant: every crawl ends with `harness::statistics`, which checks every
//! line of its statistics; no test leaves loopback.

mod archive;
mod command_line;
mod complaints;
mod control;
mod disk_guard;
mod explain;
mod generated;
mod growth;
mod harness;
mod hostile;
mod hostile_server;
mod kills;
mod many_hosts;
mod moving;
mod recrawl;
mod rekey;
mod robots_memory;
mod site_crawl;
mod sitemaps;
mod stopping;
mod structure;
mod warc_reader;
mod web;
