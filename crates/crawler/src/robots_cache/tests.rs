//! How long rules hold, that one asks for them, and what goes when there are too many.

use super::*;

fn answer(cell: &Cell, expires: Millis) {
    cell.set(Answer { rules: None, expires }).expect("nobody has answered");
}

#[test]
fn an_answer_holds_until_it_expires() {
    let cache = RobotsCache::new(10, MAX_BYTES);
    let first = cache.cell("http://a.test", 0);
    assert!(Arc::ptr_eq(&first, &cache.cell("http://a.test", 1_000)), "being asked for is not expired");
    answer(&first, 500);
    assert!(cache.known("http://a.test", 499).is_some() && cache.known("http://a.test", 500).is_none());
    assert!(cache.known("http://b.test", 0).is_none() && cache.len() == 1, "asking makes no place");
    assert!(Arc::ptr_eq(&first, &cache.cell("http://a.test", 499)));
    let second = cache.cell("http://a.test", 500);
    assert!(!Arc::ptr_eq(&first, &second) && second.get().is_none());
    assert!(cache.cell("https://a.test", 0).get().is_none(), "another scheme is another origin");
}

#[test]
fn a_memory_holds_for_a_day() {
    let day = TTL.as_millis() as u64;
    let memory = |fetched| RobotsMemory { fetched, ..RobotsMemory::default() };
    let expires = |fetched, now| Answer::of_memory(&memory(fetched), "bot", now).map(|answer| answer.expires);
    assert_eq!(expires(5, 5), Some(5 + day));
    assert_eq!((expires(5, 4 + day), expires(5, 5 + day)), (Some(5 + day), None));
    assert_eq!(expires(u64::MAX, 7), Some(7 + day), "the clock was set back");
    assert_eq!(expires(0, 7), None, "no answer ever came");
    let hour = MIN_TTL.as_millis() as u64;
    for (max_age_secs, ttl) in [(0, hour), (7_200, 2 * hour), (u32::MAX, day)] {
        let memory = RobotsMemory { max_age_secs: Some(max_age_secs), ..memory(5) };
        let answer = Answer::of_memory(&memory, "bot", 6).expect("holds");
        assert_eq!(answer.expires, 5 + ttl, "{max_age_secs}");
    }
}

#[test]
fn what_cache_control_says() {
    for (text, want) in [
        ("max-age=60", Some(60)),
        ("public, Max-Age = \"3600\", immutable", Some(3600)),
        ("max-age=99999999999999999999", Some(u32::MAX)),
        ("max-age=600, no-cache", Some(0)),
        ("NO-STORE", Some(0)),
        ("s-maxage=5, private", None),
        ("max-age=-1, max-age=, max-age", None),
        ("", None),
    ] {
        assert_eq!(max_age_secs(text), want, "{text:?}");
    }
}

#[test]
fn patience_with_errors_ends_after_thirty_days() {
    let now = 100 * TTL.as_millis() as u64;
    let days = |days: u64| now - days * TTL.as_millis() as u64;
    let text = Some("user-agent: *\ndisallow: /a".to_owned());
    let memory = |since| RobotsMemory { unreachable_since: since, ..RobotsMemory::default() };
    let unreachable = |memory: &RobotsMemory| Answer::of_unreachable(memory, "bot", now);
    assert!(unreachable(&memory(None)).is_none());
    assert!(unreachable(&memory(Some(days(29)))).is_none());
    assert!(unreachable(&memory(Some(u64::MAX))).is_none(), "the clock was set back");
    let never = unreachable(&memory(Some(days(30)))).expect("long enough");
    assert_eq!((never.rules.as_deref(), never.expires), (Some(&Robots::allow_all()), days(0) + days(99)));
    let once = unreachable(&RobotsMemory { text, fetched: days(60), ..memory(Some(days(31))) }).expect("long enough");
    assert!(once.rules.is_some_and(|rules| rules.sitemaps().is_empty() && *rules != Robots::allow_all()));
}

#[test]
fn the_oldest_goes_when_it_is_full() {
    let cache = RobotsCache::new(2, MAX_BYTES);
    for origin in ["a", "b"] {
        answer(&cache.cell(origin, 0), 10);
    }
    answer(&cache.cell("a", 10), 20); // asked again: still the oldest
    answer(&cache.cell("c", 10), 20);
    assert_eq!(cache.len(), 2);
    assert!(cache.cell("c", 11).get().is_some());
    assert!(cache.cell("a", 11).get().is_none(), "gone, and made anew in place of b");
    assert_eq!(cache.len(), 2);
}

#[test]
fn the_oldest_go_when_the_rules_are_too_large() {
    let rules = |lines: usize| {
        let body = format!("user-agent: *\n{}", "disallow: /a\n".repeat(lines));
        Answer { rules: Some(Arc::new(Robots::parse("bot", body.as_bytes()))), expires: 10 }
    };
    let most = rules(100).rules.map_or(0, |rules| rules.bytes());
    assert!((100 * 30..100 * 100).contains(&most), "{most} bytes");
    let cache = RobotsCache::new(9, most);
    let put = |origin: &str, now: Millis, lines: usize| {
        let answer = rules(lines);
        cache.cell(origin, now).set(answer.clone()).expect("nobody has answered");
        cache.weigh(origin, &answer);
    };
    put("a", 0, 40);
    put("b", 0, 40);
    put("a", 10, 10);
    cache.weigh("b", &rules(40));
    assert_eq!(cache.len(), 2, "what was replaced does not count, and nothing counts twice");
    put("c", 10, 40);
    assert_eq!((cache.len(), cache.known("a", 9).is_some()), (3, true), "just enough");
    put("d", 10, 40);
    assert_eq!(cache.len(), 2);
    assert!(cache.known("c", 9).is_some() && cache.known("d", 9).is_some());
    cache.weigh("gone", &rules(1_000));
    put("e", 10, 1_000);
    assert!(cache.is_empty(), "too large for all");
    put("f", 10, 100);
    assert_eq!(cache.len(), 1);
}

#[tokio::test]
async fn one_asks_and_the_others_wait() {
    let cache = RobotsCache::new(2, MAX_BYTES);
    let asked = std::sync::atomic::AtomicU32::new(0);
    let ask = async || {
        let cell = cache.cell("http://a.test", 0);
        let asking = cell.get_or_init(async || {
            asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            tokio::task::yield_now().await;
            Answer { rules: None, expires: 9 }
        });
        asking.await.expires
    };
    assert_eq!(tokio::join!(ask(), ask(), ask()), (9, 9, 9));
    assert_eq!(asked.into_inner(), 1);
}
