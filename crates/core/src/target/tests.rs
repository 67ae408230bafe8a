use super::*;

const RING: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

fn target(json: serde_json::Value) -> Target {
    serde_json::from_value(json).expect("a target")
}

/// One of each kind, each with something that may be secret where it has a field for it.
fn one_of_each() -> [Target; 4] {
    [
        target(
            serde_json::json!({"http": {"url": "http://a.example/x", "method": "PUT", "headers": {"x-key": "hush"}}}),
        ),
        target(serde_json::json!({"command": {"program": {"argv": ["echo"]}, "env": {"KEY": "hush"}}})),
        target(serde_json::json!({"task": {"name": "mail", "payload": {"text": "hello"}}})),
        Target::Webhook(WebhookTarget {
            to: Addressee::Callback("http://a.example/cb".parse().expect("a URL")),
            event: crate::webhook::Event::JobCompleted,
            wish: crate::webhook::Wish::Known,
            body: RawValue::from_string(r#"{"a":1}"#.into()).expect("JSON"),
        }),
    ]
}

#[test]
fn a_payload_survives_the_store_to_the_letter() {
    let payload = r#"{"b":1.0,"a":123456789012345678901234567890,"e":1e400}"#;
    let target = Target::Http(HttpTarget {
        url: "http://127.0.0.1/".parse().expect("valid"),
        method: "POST".into(),
        headers: SecretMap::default(),
        body: Body::Json(RawValue::from_string(payload.into()).expect("valid JSON")),
    });
    let stored = serde_json::to_string(&target).expect("serializes");
    let Target::Http(read) = serde_json::from_str(&stored).expect("reads") else { panic!("another target") };
    assert_eq!(read.body.as_str(), payload);
}

#[test]
fn each_kind_says_where_it_goes_and_what_it_carries() {
    let routes = one_of_each().map(|target| target.route().to_string());
    assert_eq!(routes, ["http", "command", "task:mail", "webhook"]);
    let urls = one_of_each().map(|target| target.url().map(ToString::to_string));
    assert_eq!(urls, [Some("http://a.example/x".into()), None, None, None], "a callback is counted with its job");
    let sizes = one_of_each().map(|target| (target.body().as_str().len(), target.content_bytes()));
    assert_eq!(sizes, [(0, 0), (0, 0), (5, 5), (0, 7)], "a message of ours is no body of the client");
    let commands = one_of_each().map(|target| target.command().is_some());
    assert_eq!(commands, [false, true, false, false]);
    let labels = one_of_each().map(|target| target.fixed_label().map(str::to_owned));
    assert_eq!(labels, [None, None, Some("mail".into()), None]);
}

#[test]
fn what_is_sealed_goes_another_way_and_is_sealed_again_with_a_new_key() {
    let (tenant, old): (_, Keyring) = (TenantId::new("acme"), RING.parse().expect("a ring"));
    let newer = "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXoxMjM0NTY=";
    let both: Keyring = format!("{newer},{RING}").parse().expect("a ring of two");
    for (mut target, route) in one_of_each().into_iter().zip(["http+sealed", "command+sealed", "task:mail", "webhook"])
    {
        let fields = target.secrets().map(|secrets| (secrets.field, secrets.name));
        assert_eq!(target.is_safe_to_keep(), fields.is_none());
        target.seal(&old, &tenant);
        assert!(target.is_safe_to_keep());
        assert_eq!(target.route().as_str(), route);
        assert_eq!(target.reseal(&old, &tenant), Ok(false), "it is under the first key");
        assert_eq!(target.reseal(&both, &tenant), Ok(fields.is_some()));
        let Some(secrets) = target.secrets() else { continue };
        assert_eq!(Some((secrets.field, secrets.name)), fields);
        let fresh: Keyring = newer.parse().expect("a ring");
        let opened = secrets.values.open(Some(&fresh), secrets.place(&tenant)).expect("the new key opens it");
        assert_eq!(opened.values().collect::<Vec<_>>(), ["hush"]);
    }
}

#[test]
fn a_secret_stays_only_where_it_was_given_for() {
    let http = |url: &str| target(serde_json::json!({"http": {"url": url, "method": "POST"}}));
    let run = |program: &str| target(serde_json::json!({"command": {"program": {"argv": [program]}}}));
    assert_eq!(http("https://a.example/1").voids_secrets_of(&http("https://a.example/2")), None);
    assert!(http("https://b.example/").voids_secrets_of(&http("https://a.example/")).is_some());
    assert_eq!(run("a").voids_secrets_of(&run("a")), None);
    assert!(run("b").voids_secrets_of(&run("a")).is_some());
}
