//! The audit as JSON and as text: `crawld audit`.
//!
//! Not the checks; those are the frontier's. Invariant: both forms say the same.

use std::fmt::Write;

use frontier::{Check, Verdict};
use serde_json::{Value, json};

/// `{"checks":[{"name":…,"verdict":…,"evidence":…},…]}`
pub fn to_json(checks: &[Check]) -> Value {
    let check = |c: &Check| json!({ "name": c.name, "verdict": c.verdict.to_string(), "evidence": c.evidence });
    json!({ "checks": checks.iter().map(check).collect::<Vec<_>>() })
}

/// A line for each check, verdict first; before them, where whoever asks has other canonical rules than the directory, that
/// these do not count.
pub fn to_text(report: &Value) -> String {
    let mut text = String::new();
    let differing: Vec<&str> =
        report["canonical_differs"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !differing.is_empty() {
        let names = differing.join(", ");
        let evidence = format!("this config has others ({names}); the directory's own hold");
        writeln!(text, "{}  {:<30} {evidence}", Verdict::Warn, "canonical rules").expect("a String takes all");
    }
    for check in report["checks"].as_array().into_iter().flatten() {
        let part = |name: &str| check[name].as_str().unwrap_or_default();
        writeln!(text, "{}  {:<30} {}", part("verdict"), part("name"), part("evidence")).expect("a String takes all");
    }
    text
}

/// Whether a promise is broken.
pub fn has_failed(report: &Value) -> bool {
    let fail = Verdict::Fail.to_string();
    report["checks"].as_array().into_iter().flatten().any(|check| check["verdict"] == *fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_seen_in_both_forms() {
        let check = |verdict| Check { name: "deletes", verdict, evidence: "none".into() };
        let sound = to_json(&[check(Verdict::Pass), check(Verdict::Warn)]);
        let broken = to_json(&[check(Verdict::Pass), check(Verdict::Fail)]);
        assert!(!has_failed(&sound) && has_failed(&broken));
        assert_eq!(to_text(&sound).lines().count(), 2);
        let mut elsewhere = sound;
        elsewhere["canonical_differs"] = json!(["fold_www", "sort_query"]);
        let said = to_text(&elsewhere);
        assert!(!has_failed(&elsewhere) && said.starts_with("WARN  canonical rules "), "{said}");
        assert!(said.contains("others (fold_www, sort_query); the directory's own hold\n"), "{said}");
        assert!(to_text(&broken).lines().nth(1).is_some_and(|line| line.starts_with("FAIL  deletes ")));
    }
}
