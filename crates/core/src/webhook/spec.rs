//! An endpoint as a client writes it, judged.

use serde::{Deserialize, Serialize};

use super::{Disabled, Events, WebhookSettings};
use crate::limits::Limits;
use crate::spec::Invalid;
use crate::spec::fields::{self, Mistakes};

/// The fields of an endpoint.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct WebhookSpec {
    /// The URL that receives the messages.
    pub url: String,
    /// The events to receive: names such as `job.completed`, or `job.*`, or `*`.
    #[cfg_attr(feature = "openapi", schema(example = json!(["job.completed", "job.dead"])))]
    pub events: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it receives messages. Defaults to `true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// The fields of an endpoint to change.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct WebhookPatch {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `true` also re-enables an endpoint that was disabled because of failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

impl WebhookSpec {
    pub fn validate(self, limits: &Limits) -> Result<WebhookSettings, Invalid> {
        let mut mistakes = Mistakes::default();
        let url = fields::url("/url", &self.url, limits, &mut mistakes);
        let events = events(&self.events, &mut mistakes);
        let description = description(self.description, &mut mistakes);
        let disabled = disabled(self.enabled, None);
        match (url, events) {
            (Some(url), Some(events)) if mistakes.is_empty() => {
                Ok(WebhookSettings { url, events, description: description.unwrap_or_default(), disabled })
            }
            _ => Err(mistakes.into_invalid()),
        }
    }
}

impl WebhookPatch {
    /// The settings as they are from now on.
    pub fn apply(self, settings: &WebhookSettings, limits: &Limits) -> Result<WebhookSettings, Invalid> {
        let mut mistakes = Mistakes::default();
        let mut changed = settings.clone();
        if let Some(url) = self.url.and_then(|text| fields::url("/url", &text, limits, &mut mistakes)) {
            changed.url = url;
        }
        if let Some(events) = self.events.and_then(|names| events(&names, &mut mistakes)) {
            changed.events = events;
        }
        if let Some(text) = description(self.description, &mut mistakes) {
            changed.description = text;
        }
        changed.disabled = disabled(self.enabled, settings.disabled);
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
        spec.validate(&limits()).map_err(pointers)
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
        assert_eq!(patch("{}").apply(&gone, &limits()).expect("nothing"), gone);
        assert_eq!(patch(r#"{"enabled":false}"#).apply(&gone, &limits()).expect("off"), gone, "and it is told why");
        assert_eq!(patch(r#"{"enabled":true}"#).apply(&gone, &limits()).expect("on"), before);
        let all = patch(r#"{"url":"https://b.example.com/x","events":["job.*"],"description":""}"#);
        let after = all.apply(&before, &limits()).expect("changed");
        assert_eq!((after.url.as_str(), after.description.as_str()), ("https://b.example.com/x", ""));
        let wrong = patch(r#"{"url":"nowhere","events":[]}"#).apply(&before, &limits()).map_err(pointers);
        assert_eq!(wrong.expect_err("wrong"), ["/url", "/events"]);
    }
}
