//! The section `[kafka]`: how announcements travel, and how many.
//!
//! Whether there is a broker at all follows from `kafka.brokers`; everything else has a default. What only shows once all of them
//! are there is judged in [`KafkaSettings::judge`].

use std::path::PathBuf;

use foreman_core::secret::Secret;
use foreman_engine::relay;
use foreman_kafka::{Compression, GroupProtocol, SaslLogin, SaslMechanism, Security, TlsFiles};

use super::codec::{self, Choice, Codec};

#[derive(Clone, Debug)]
pub struct KafkaSettings {
    /// `None`: workers ask the database.
    pub brokers: Option<String>,
    /// All but the brokers and how they are reached, which are here.
    pub transport: foreman_kafka::Config,
    pub relay: relay::Config,
    pub tls: bool,
    pub tls_ca: Option<PathBuf>,
    pub tls_certificate: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    pub tls_key_password: Option<Secret>,
    pub sasl: Option<SaslMechanism>,
    pub user: Option<String>,
    pub password: Option<Secret>,
}

impl Default for KafkaSettings {
    fn default() -> Self {
        Self {
            brokers: None,
            transport: foreman_kafka::Config::at(""),
            relay: relay::Config::default(),
            tls: false,
            tls_ca: None,
            tls_certificate: None,
            tls_key: None,
            tls_key_password: None,
            sasl: None,
            user: None,
            password: None,
        }
    }
}

impl KafkaSettings {
    /// How the brokers are reached, by a process that they know as `foreman-{what}`; `None` without them.
    pub fn config(&self, what: &str) -> Option<foreman_kafka::Config> {
        let brokers = self.brokers.clone()?;
        let tls = self.tls.then(|| TlsFiles {
            ca: self.tls_ca.clone(),
            certificate: self.tls_certificate.clone(),
            key: self.tls_key.clone(),
            key_password: self.tls_key_password.clone(),
        });
        let sasl = self.sasl.zip(self.user.clone()).zip(self.password.clone());
        let sasl = sasl.map(|((mechanism, user), password)| SaslLogin { mechanism, user, password });
        let security = Security { tls, sasl };
        Some(foreman_kafka::Config {
            brokers,
            security,
            client_id: format!("foreman-{what}"),
            ..self.transport.clone()
        })
    }

    /// Settings that are wrong once they are seen together: path and reason.
    pub fn judge(&self) -> Vec<(&'static str, String)> {
        let mut wrong = Vec::new();
        if self.brokers.is_none() {
            return wrong;
        }
        let needs_openssl = self.sasl.is_some_and(SaslMechanism::needs_openssl);
        for (path, is_set) in [("kafka.tls", self.tls), ("kafka.sasl", needs_openssl)] {
            if is_set && !Security::IS_COMPILED_IN {
                wrong.push((path, "this binary cannot do it; build it with `--features kafka-tls`".into()));
            }
        }
        if self.sasl.is_some() && (self.user.is_none() || self.password.is_none()) {
            wrong.push(("kafka.sasl", "it needs kafka.user and kafka.password".into()));
        }
        if self.tls_certificate.is_some() != self.tls_key.is_some() {
            wrong
                .push(("kafka.tls_certificate", "it goes together with kafka.tls_key; only one of them is set".into()));
        }
        wrong
    }
}

pub const COMPRESSIONS: &[(&str, Compression)] =
    &[("none", Compression::None), ("lz4", Compression::Lz4), ("snappy", Compression::Snappy)];

pub const PROTOCOLS: &[(&str, GroupProtocol)] =
    &[("auto", GroupProtocol::Auto), ("consumer", GroupProtocol::Consumer), ("classic", GroupProtocol::Classic)];

impl Choice for Compression {
    fn name(self) -> &'static str {
        self.as_str()
    }
}

impl Choice for GroupProtocol {
    fn name(self) -> &'static str {
        self.as_str()
    }
}

/// `host:port`, separated by commas, or `"none"`.
pub fn brokers() -> Codec<Option<String>> {
    let Codec { read, .. } = codec::text();
    Codec {
        read: Box::new(move |raw| {
            let text = read(raw)?;
            if text == "none" {
                return Ok(None);
            }
            match text.split(',').map(str::trim).find(|broker| !is_broker(broker)) {
                Some(broker) => Err(format!("{broker:?} is not a broker; write it like kafka-1.example:9092")),
                None => Ok(Some(text)),
            }
        }),
        show: |value| codec::quoted(value.as_deref().unwrap_or("none")),
    }
}

fn is_broker(text: &str) -> bool {
    text.rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && !host.contains(['/', '@', ' ']) && port.parse::<u16>().is_ok())
}

/// What Kafka takes for a name.
pub fn name() -> Codec<String> {
    let Codec { read, show } = codec::text();
    Codec { read: Box::new(move |raw| read(raw).and_then(kafka_name)), show }
}

/// The same, or `"none"`.
pub fn name_or_none() -> Codec<Option<String>> {
    let Codec { read, .. } = codec::text();
    Codec {
        read: Box::new(move |raw| match read(raw)? {
            text if text == "none" => Ok(None),
            text => kafka_name(text).map(Some),
        }),
        show: |value| codec::quoted(value.as_deref().unwrap_or("none")),
    }
}

fn kafka_name(text: String) -> Result<String, String> {
    // Topics have 249 at most, and we add a word.
    let is_fine = text.len() <= 200 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if is_fine { Ok(text) } else { Err(format!("{text:?} is not a name; use letters, digits, dots, - and _")) }
}

/// How many messages, or `"auto"`.
pub fn window() -> Codec<Option<usize>> {
    let Codec { read, .. } = codec::count_or_none(1..=1_000_000);
    let text = codec::text().read;
    Codec {
        read: Box::new(move |raw| match text(raw) {
            Ok(text) if text == "auto" => Ok(None),
            _ => match read(raw) {
                Ok(Some(window)) => Ok(Some(window)),
                Ok(None) => Err("write auto, or a number of jobs".into()),
                Err(why) => Err(why.replace(", or none", ", or auto")),
            },
        }),
        show: |value| value.map_or_else(|| codec::quoted("auto"), |window: usize| window.to_string()),
    }
}

/// A mechanism, or `"none"`.
pub fn sasl() -> Codec<Option<SaslMechanism>> {
    let Codec { read, .. } = codec::text();
    Codec {
        read: Box::new(move |raw| match read(raw)? {
            text if text == "none" => Ok(None),
            text => SaslMechanism::named(&text)
                .map(Some)
                .ok_or_else(|| format!("{text:?} is not one of none, PLAIN, SCRAM-SHA-256, SCRAM-SHA-512")),
        }),
        show: |value| codec::quoted(value.map_or("none", SaslMechanism::as_str)),
    }
}

/// Who logs in, or `"none"`.
pub fn user() -> Codec<Option<String>> {
    let Codec { read, .. } = codec::text();
    Codec {
        read: Box::new(move |raw| read(raw).map(|text| Some(text).filter(|text| text != "none"))),
        show: |value| codec::quoted(value.as_deref().unwrap_or("none")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::codec::Raw;

    #[test]
    fn brokers_are_hosts_with_ports() {
        let read = |text| (brokers().read)(Raw::Text(text));
        assert_eq!(read("a:9092, b.example:9093"), Ok(Some("a:9092, b.example:9093".into())));
        assert_eq!(read("none"), Ok(None));
        for wrong in ["a", "a:b", "kafka://a:9092", "a:9092,", "u@a:1"] {
            assert!(read(wrong).expect_err(wrong).contains("kafka-1.example:9092"), "{wrong}");
        }
    }

    #[test]
    fn a_window_is_a_number_or_left_to_the_relay() {
        let read = |text| (window().read)(Raw::Text(text));
        assert_eq!((read("auto"), read("64")), (Ok(None), Ok(Some(64))));
        assert!(read("0").is_err() && read("none").expect_err("not that word").contains("auto"));
        assert_eq!(((window().show)(&None), (window().show)(&Some(64))), ("\"auto\"".into(), "64".into()));
    }

    #[test]
    fn what_goes_together_is_judged_together() {
        let at = |change: &dyn Fn(&mut KafkaSettings)| {
            let mut settings = KafkaSettings { brokers: Some("a:1".into()), ..KafkaSettings::default() };
            change(&mut settings);
            settings.judge().into_iter().map(|(path, _)| path).collect::<Vec<_>>()
        };
        assert_eq!(at(&|_| {}), Vec::<&str>::new());
        assert!(at(&|it| it.sasl = Some(SaslMechanism::Plain)).contains(&"kafka.sasl"));
        let log_in = |it: &mut KafkaSettings, mechanism| {
            (it.user, it.password) = (Some("foreman".into()), Some(Secret::new("a word")));
            it.sasl = Some(mechanism);
        };
        assert_eq!(at(&|it| log_in(it, SaslMechanism::Plain)), Vec::<&str>::new());
        assert_eq!(at(&|it| log_in(it, SaslMechanism::ScramSha256)).is_empty(), Security::IS_COMPILED_IN);
        assert_eq!(at(&|it| it.tls_key = Some("k".into())), ["kafka.tls_certificate"]);
        assert_eq!(at(&|it| it.tls = true).is_empty(), Security::IS_COMPILED_IN);
    }
}
