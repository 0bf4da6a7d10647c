//! `crawld budget`: what hosts have used of their budgets, more for a host, parked URLs back into the queue.
//!
//! Not the budgets themselves (the frontier's). Invariant: a running daemon and a stopped directory answer alike, in the
//! same JSON; [`to_text`] is the one for people.

use std::fmt::Write as _;

use frontier::{Canonical, Error, Frontier, Grant, HostUsage, HostView, Released, Slowed};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::clock::iso;
use crate::control;

/// Hosts that are listed: a reply is one bounded line.
const MAX_LISTED: usize = 100;

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// What one host has used, or all hosts of which something is parked.
    Show {
        /// Its name; without, those of note.
        host: Option<String>,
    },
    /// Grant a host so much beyond its budgets.
    Raise {
        /// Its name.
        host: String,
        /// URLs and pages; 0 takes back what was granted.
        more: u32,
    },
    /// Lift the budgets of a host.
    Lift {
        /// Its name.
        host: String,
    },
    /// Have the growth guard leave a host alone for good.
    Unslow {
        /// Its name.
        host: String,
    },
    /// Put parked URLs of a host back into its queue, as far as its budgets have room.
    Release {
        /// Its name.
        host: String,
    },
}

/// Does it, and says what came of it; what is granted or released is durable by then.
pub fn answer(frontier: &Frontier, action: &Action) -> Value {
    match done(frontier, action) {
        Ok(reply) => reply,
        Err(Refusal::Host(host)) => control::error("bad_host", format!("{host:?} is not the name of a host")),
        Err(Refusal::Frontier(error)) => control::error("failed", error),
    }
}

/// Whether a host's budgets are lifted; false where that cannot be told.
pub(crate) fn is_lifted(frontier: &Frontier, host: &str) -> bool {
    let usage = named(frontier, host).and_then(|host| Ok(frontier.usage(&host)?));
    usage.is_ok_and(|usage| usage.granted == Grant::Lifted)
}

enum Refusal {
    Host(String),
    Frontier(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Frontier(error)
    }
}

fn done(frontier: &Frontier, action: &Action) -> Result<Value, Refusal> {
    let reply = match action {
        Action::Show { host: None } => {
            let all = frontier.held_back()?;
            let hosts: Vec<Value> = all.iter().take(MAX_LISTED).map(row).collect();
            return Ok(json!({ "hosts": hosts, "more_hosts": all.len() - hosts.len() }));
        }
        // Looked at like this, a host that nobody has heard of does not become one.
        Action::Show { host: Some(host) } => {
            let HostView { is_known, usage, .. } = frontier.explain(&named(frontier, host)?)?.host;
            let mut row = row(&usage);
            row["known"] = is_known.into();
            json!({ "hosts": [row] })
        }
        Action::Raise { host, more } => {
            json!({ "hosts": [row(&frontier.grant(&named(frontier, host)?, Grant::More(*more))?)] })
        }
        Action::Lift { host } => json!({ "hosts": [row(&frontier.grant(&named(frontier, host)?, Grant::Lifted)?)] }),
        Action::Unslow { host } => json!({ "hosts": [row(&frontier.unslow(&named(frontier, host)?)?)] }),
        Action::Release { host: name } => {
            let host = named(frontier, name)?;
            if !frontier.explain(&host)?.host.is_known {
                return done(frontier, &Action::Show { host: Some(name.clone()) });
            }
            let Released { released, parked, .. } = frontier.release(&host)?;
            let budget = frontier.explain(&host)?.budget.filter(|_| parked > 0);
            let held_by = budget.and_then(|budget| budget.held_by).map(|name| format!("budget.{name}"));
            json!({ "released": released, "held_by": held_by, "hosts": [row(&frontier.usage(&host)?)] })
        }
    };
    frontier.commit()?;
    Ok(reply)
}

/// The home page of a host: any URL of it will do.
fn named(frontier: &Frontier, host: &str) -> Result<Canonical, Refusal> {
    frontier.rules().front_page(host).map_err(|_| Refusal::Host(host.to_owned()))
}

fn row(usage: &HostUsage) -> Value {
    let granted = match usage.granted {
        Grant::More(more) => json!(more),
        Grant::Lifted => json!("lifted"),
    };
    json!({
        "host": usage.host,
        "urls": usage.urls,
        "queued": usage.queued,
        "pages": usage.pages,
        "parked": usage.parked,
        "granted": granted,
        "delay_ms": usage.delay_ms,
        "failures": usage.failures,
        "blocked_until": usage.blocked.map(|(until, _)| iso(until)),
        "blocked_by": usage.blocked.map(|(_, reason)| reason.name()),
        "slowed_by": usage.slowed.map(Slowed::name),
        "trusted": usage.trusted,
    })
}

/// A reply as a table.
pub fn to_text(reply: &Value) -> String {
    let mut out = String::new();
    let hosts = reply["hosts"].as_array().map_or(&[][..], Vec::as_slice);
    if let Some(released) = reply.get("released") {
        push_line(&mut out, &format!("{released} URLs released{}", left(reply, &hosts[0])));
    }
    if let [host] = hosts
        && host["known"] == false
    {
        push_line(
            &mut out,
            &format!("{} is not known: no URL of it was ever found", host["host"].as_str().unwrap_or_default()),
        );
        return out;
    }
    if hosts.is_empty() {
        push_line(&mut out, "nothing is parked or granted, and nobody slowed");
        return out;
    }
    let line = |host: &str, columns: [&str; 6], rests: &str| {
        let [urls, queued, pages, parked, granted, delay] = columns;
        format!("{host:<40} {urls:>9} {queued:>9} {pages:>9} {parked:>9} {granted:>9} {delay:>9}  {rests}")
    };
    push_line(&mut out, &line("host", ["urls", "queued", "pages", "parked", "granted", "delay-ms"], "rests until"));
    for host in hosts {
        let names = ["urls", "queued", "pages", "parked", "granted", "delay_ms"];
        let columns = names.map(|name| host[name].to_string().replace('"', ""));
        let mut rests = match (host["blocked_until"].as_str(), host["blocked_by"].as_str()) {
            (Some(until), Some(reason)) => format!("{until} ({reason})"),
            _ => "-".to_owned(),
        };
        if let Some(reason) = host["slowed_by"].as_str() {
            rests.push_str(&format!(", slowed: {reason}"));
        } else if host["trusted"] == true {
            rests.push_str(", trusted to grow");
        }
        let name = host["host"].as_str().unwrap_or_default();
        push_line(&mut out, &line(name, columns.each_ref().map(String::as_str), &rests));
    }
    if let Some(more) = reply["more_hosts"].as_u64().filter(|more| *more > 0) {
        push_line(&mut out, &format!("… and {more} hosts more"));
    }
    out
}

/// What a release has left, and why.
fn left(reply: &Value, host: &Value) -> String {
    let name = host["host"].as_str().unwrap_or_default();
    match (host["parked"].as_u64(), reply["held_by"].as_str()) {
        (Some(0), _) if reply["released"] == 0 => "; none is parked".to_owned(),
        (Some(parked @ 1..), Some(budget)) => format!(
            "; {parked} stay parked: {budget} has no room for more (raise it, or crawld budget raise {name} COUNT, or lift {name})"
        ),
        (Some(parked @ 1..), None) => format!("; {parked} stay parked"),
        _ => String::new(),
    }
}

fn push_line(out: &mut String, line: &str) {
    writeln!(out, "{line}").expect("a string takes every text");
}

#[cfg(test)]
mod tests {
    use frontier::{Budget, Found, FoundUrl, Options};

    use super::*;

    fn crawl(dir: &std::path::Path) -> Frontier {
        let budget = Budget { urls_per_host: 1, park: true, ..Budget::default() };
        let options = Options { partitions: 1, budget, ..Options::new(dir) };
        let frontier = Frontier::open(options, 0, || {}).expect("opens");
        let urls = ["http://a.test/1", "http://a.test/2", "http://a.test/3", "http://b.test/"];
        let url = |url: &str| FoundUrl::new(Canonical::parse(url).expect("a URL"), 0);
        let found = Found { urls: urls.map(url).into(), ..Found::default() };
        frontier.offer(&found, None, 0).expect("offers");
        frontier
    }

    #[test]
    fn a_host_is_shown_raised_released_and_lifted() {
        let dir = tempfile::tempdir().expect("a directory");
        let frontier = crawl(dir.path());
        let host = || "A.test:8080".to_owned();
        let parked = |reply: &Value| (reply["hosts"][0]["host"].clone(), reply["hosts"][0]["parked"].clone());
        let all = answer(&frontier, &Action::Show { host: None });
        assert_eq!((parked(&all), all["hosts"].as_array().map(Vec::len)), ((json!("a.test"), json!(2)), Some(1)));
        let raised = answer(&frontier, &Action::Raise { host: host(), more: 1 });
        assert_eq!(raised["hosts"][0]["granted"], 1, "{raised}");
        let released = answer(&frontier, &Action::Release { host: host() });
        assert_eq!((&released["released"], parked(&released).1), (&json!(1), json!(1)));
        let lifted = answer(&frontier, &Action::Lift { host: host() });
        assert_eq!(lifted["hosts"][0]["granted"], "lifted");
        assert_eq!(answer(&frontier, &Action::Release { host: host() })["released"], 1);
        let one = answer(&frontier, &Action::Show { host: Some(host()) });
        assert_eq!((&one["hosts"][0]["urls"], parked(&one).1), (&json!(3), json!(0)));
        for bad in ["", "a/b", "http://a.test/", "user@a.test", "a b"] {
            assert_eq!(answer(&frontier, &Action::Lift { host: bad.to_owned() })["error"], "bad_host", "{bad}");
        }
    }

    #[test]
    fn a_release_without_room_names_the_budget_that_has_none() {
        let dir = tempfile::tempdir().expect("a directory");
        let frontier = crawl(dir.path());
        let release = |host: &str| to_text(&answer(&frontier, &Action::Release { host: host.to_owned() }));
        let said = release("a.test");
        assert!(said.starts_with("0 URLs released; 2 stay parked: budget.max_urls_per_host has no room"), "{said}");
        answer(&frontier, &Action::Raise { host: "a.test".to_owned(), more: 1 });
        let said = release("a.test");
        assert!(said.starts_with("1 URLs released; 1 stay parked: budget.max_urls_per_host"), "{said}");
        answer(&frontier, &Action::Lift { host: "a.test".to_owned() });
        let said = release("a.test");
        assert!(said.starts_with("1 URLs released\n"), "{said}");
        let said = release("a.test");
        assert!(said.starts_with("0 URLs released; none is parked\n"), "{said}");
        assert_eq!(release("c.test"), "c.test is not known: no URL of it was ever found\n");
    }

    #[test]
    fn a_host_that_nobody_has_heard_of_is_said_to_be_not_known() {
        let dir = tempfile::tempdir().expect("a directory");
        let frontier = crawl(dir.path());
        let show = |host: &str| answer(&frontier, &Action::Show { host: Some(host.to_owned()) });
        assert_eq!(
            (&show("a.test")["hosts"][0]["known"], &show("c.test")["hosts"][0]["known"]),
            (&json!(true), &json!(false))
        );
        assert_eq!(to_text(&show("c.test")), "c.test is not known: no URL of it was ever found\n");
        assert!(to_text(&show("a.test")).starts_with("host "), "one that is known has its line");
        answer(&frontier, &Action::Raise { host: "c.test".to_owned(), more: 1 });
        assert!(to_text(&show("c.test")).contains(" 1 "), "what was granted is shown");
    }

    #[test]
    fn an_ipv6_host_is_named_with_or_without_brackets() {
        let dir = tempfile::tempdir().expect("a directory");
        let frontier = crawl(dir.path());
        for (host, more) in [("::1", 5), ("[::1]", 6), ("[::1]:80", 7)] {
            let raised = answer(&frontier, &Action::Raise { host: host.to_owned(), more });
            assert_eq!((&raised["hosts"][0]["host"], &raised["hosts"][0]["granted"]), (&json!("[::1]"), &json!(more)));
        }
        assert_eq!(answer(&frontier, &Action::Show { host: Some("::1]".to_owned()) })["error"], "bad_host");
    }

    #[test]
    fn people_get_a_table() {
        let dir = tempfile::tempdir().expect("a directory");
        let text = to_text(&answer(&crawl(dir.path()), &Action::Show { host: None }));
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["a.test", "1", "1", "0", "2", "0", "1000", "-"], "{text}");
        assert_eq!(to_text(&json!({ "hosts": [] })), "nothing is parked or granted, and nobody slowed\n");
    }
}
