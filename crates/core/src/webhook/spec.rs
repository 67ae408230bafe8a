//! An endpoint as a client writes it, judged.

use super::{Disabled, Events, WebhookPatch, WebhookSettings, WebhookSpec};
use crate::limits::Limits;
use crate::spec::Invalid;
use crate::spec::fields::{self, Mistakes};

impl WebhookSettings {
    /// Of a new endpoint.
    pub fn judge(spec: WebhookSpec, limits: &Limits) -> Result<Self, Invalid> {
        let mut mistakes = Mistakes::default();
        let url = fields::url("/url", &spec.url, limits, &mut mistakes);
        let events = events(&spec.events, &mut mistakes);
        let description = description(spec.description, &mut mistakes);
        let disabled = disabled(spec.enabled, None);
        match (url, events) {
            (Some(url), Some(events)) if mistakes.is_empty() => {
                Ok(Self { url, events, description: description.unwrap_or_default(), disabled })
            }
            _ => Err(mistakes.into_invalid()),
        }
    }

    /// The settings as they are from now on.
    pub fn patched(&self, patch: WebhookPatch, limits: &Limits) -> Result<Self, Invalid> {
        let mut mistakes = Mistakes::default();
        let mut changed = self.clone();
        if let Some(url) = patch.url.and_then(|text| fields::url("/url", &text, limits, &mut mistakes)) {
            changed.url = url;
        }
        if let Some(events) = patch.events.and_then(|names| events(&names, &mut mistakes)) {
            changed.events = events;
        }
        if let Some(text) = description(patch.description, &mut mistakes) {
            changed.description = text;
        }
        changed.disabled = disabled(patch.enabled, self.disabled);
        if mistakes.is_empty() { Ok(changed) } else { Err(mistakes.into_invalid()) }
    }
}

fn events(names: &[String], mistakes: &mut Mistakes) -> Option<Events> {
    let read = Events::parse(names.iter().map(String::as_str));
    read.map_err(|error| mistakes.add("/events", error.to_string())).ok()
}

/// Empty text is no description, and fine.
fn description(given: Option<String>, mistakes: &mut Mistakes) -> Option<String> {
    match given {
        Some(text) if text.is_empty() => Some(text),
        given => fields::text("/description", given, 200, mistakes),
    }
}

fn disabled(enabled: Option<bool>, before: Option<Disabled>) -> Option<Disabled> {
    match enabled {
        None => before,
        Some(true) => None,
        Some(false) => before.or(Some(Disabled::ByOwner)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::egress::Policy;

    fn limits() -> Limits {
        Limits { egress: Policy::default(), ..Limits::default() }
    }

    fn spec(json: &str) -> Result<WebhookSettings, Vec<String>> {
        let spec: WebhookSpec = serde_json::from_str(json).expect("its shape");
        WebhookSettings::judge(spec, &limits()).map_err(pointers)
    }

    fn pointers(invalid: Invalid) -> Vec<String> {
        invalid.mistakes.into_iter().map(|mistake| mistake.pointer).collect()
    }

    #[test]
    fn every_mistake_is_told_at_once() {
        let wrong = r#"{"url":"https://10.0.0.1/","events":["job.done"],"description":"a\nb"}"#;
        assert_eq!(spec(wrong).expect_err("wrong"), ["/url", "/events", "/description"]);
        assert_eq!(spec(r#"{"url":"https://a.example.com/","events":[]}"#).expect_err("none"), ["/events"]);
    }

    #[test]
    fn an_endpoint_is_enabled_unless_it_says_otherwise() {
        let plain = spec(r#"{"url":"https://a.example.com/","events":["*"]}"#).expect("an endpoint");
        assert!(plain.is_enabled());
        let off = spec(r#"{"url":"https://a.example.com/","events":["*"],"enabled":false}"#).expect("an endpoint");
        assert_eq!(off.disabled, Some(Disabled::ByOwner));
    }

    #[test]
    fn a_patch_changes_what_it_names() {
        let before = spec(r#"{"url":"https://a.example.com/","events":["job.dead"],"description":"x"}"#).expect("one");
        let gone = WebhookSettings { disabled: Some(Disabled::Gone), ..before.clone() };
        let patch = |json: &str| serde_json::from_str::<WebhookPatch>(json).expect("a patch");
        assert_eq!(gone.patched(patch("{}"), &limits()).expect("nothing"), gone);
        assert_eq!(gone.patched(patch(r#"{"enabled":false}"#), &limits()).expect("off"), gone, "and it is told why");
        assert_eq!(gone.patched(patch(r#"{"enabled":true}"#), &limits()).expect("on"), before);
        let all = patch(r#"{"url":"https://b.example.com/x","events":["job.*"],"description":""}"#);
        let after = before.patched(all, &limits()).expect("changed");
        assert_eq!((after.url.as_str(), after.description.as_str()), ("https://b.example.com/x", ""));
        let wrong = before.patched(patch(r#"{"url":"nowhere","events":[]}"#), &limits()).map_err(pointers);
        assert_eq!(wrong.expect_err("wrong"), ["/url", "/events"]);
    }
}
