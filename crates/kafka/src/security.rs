//! TLS and SASL towards the brokers.
//!
//! librdkafka does TLS and SCRAM through OpenSSL only, which the rest of Foreman does without. So they are compiled in on request:
//! the feature `kafka-tls`. A binary without it refuses settings that need them when it starts, rather than connect unencrypted.
//! `PLAIN` without TLS needs no OpenSSL, and sends the password as it is.

use std::path::PathBuf;

use foreman_core::secret::Secret;
use rdkafka::ClientConfig;

use crate::error::Error;

/// How the connection to a broker is protected. The default is: not at all.
#[derive(Clone, Debug, Default)]
pub struct Security {
    pub tls: Option<TlsFiles>,
    pub sasl: Option<SaslLogin>,
}

/// Files in PEM.
#[derive(Clone, Debug, Default)]
pub struct TlsFiles {
    /// Who may vouch for the brokers. `None`: whom the system trusts.
    pub ca: Option<PathBuf>,
    /// What this client shows to the brokers, and the key that belongs to it.
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    pub key_password: Option<Secret>,
}

#[derive(Clone, Debug)]
pub struct SaslLogin {
    pub mechanism: SaslMechanism,
    pub user: String,
    pub password: Secret,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaslMechanism {
    Plain,
    ScramSha256,
    ScramSha512,
}

impl SaslMechanism {
    pub const ALL: [Self; 3] = [Self::Plain, Self::ScramSha256, Self::ScramSha512];

    /// As Kafka calls it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }

    /// Whether a binary can do it only with the feature `kafka-tls`.
    pub fn needs_openssl(self) -> bool {
        self != Self::Plain
    }

    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str().eq_ignore_ascii_case(text))
    }
}

impl Security {
    /// Whether this binary can do TLS and SCRAM.
    pub const IS_COMPILED_IN: bool = cfg!(feature = "kafka-tls");

    /// As Kafka calls it.
    pub fn protocol(&self) -> &'static str {
        match (&self.tls, &self.sasl) {
            (None, None) => "PLAINTEXT",
            (Some(_), None) => "SSL",
            (None, Some(_)) => "SASL_PLAINTEXT",
            (Some(_), Some(_)) => "SASL_SSL",
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let needs_it = match (&self.tls, &self.sasl) {
            (Some(_), _) => Some(self.protocol()),
            (None, Some(login)) if login.mechanism.needs_openssl() => Some(login.mechanism.as_str()),
            (None, _) => None,
        };
        if let Some(what) = needs_it.filter(|_| !Self::IS_COMPILED_IN) {
            return Err(Error::Settings(format!(
                "{what} needs a binary that was built with `--features kafka-tls`, and this one was not"
            )));
        }
        if let Some(tls) = &self.tls
            && tls.certificate.is_some() != tls.key.is_some()
        {
            return Err(Error::Settings("a certificate and its key go together: one of them is not set".into()));
        }
        Ok(())
    }

    pub(crate) fn apply(&self, config: &mut ClientConfig) {
        config.set("security.protocol", self.protocol());
        if let Some(tls) = &self.tls {
            config.set("ssl.endpoint.identification.algorithm", "https");
            let files = [
                ("ssl.ca.location", &tls.ca),
                ("ssl.certificate.location", &tls.certificate),
                ("ssl.key.location", &tls.key),
            ];
            for (name, file) in files {
                if let Some(file) = file {
                    config.set(name, file.to_string_lossy());
                }
            }
            if let Some(password) = &tls.key_password {
                config.set("ssl.key.password", password.reveal());
            }
        }
        if let Some(sasl) = &self.sasl {
            config.set("sasl.mechanism", sasl.mechanism.as_str());
            config.set("sasl.username", &sasl.user);
            config.set("sasl.password", sasl.password.reveal());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login() -> SaslLogin {
        let password = Secret::new("open sesame");
        SaslLogin { mechanism: SaslMechanism::ScramSha512, user: "foreman".into(), password }
    }

    #[test]
    fn a_binary_without_tls_refuses_to_go_without_it() {
        assert!(Security::default().check().is_ok());
        let plain = SaslLogin { mechanism: SaslMechanism::Plain, ..login() };
        assert!(Security { tls: None, sasl: Some(plain) }.check().is_ok(), "nobody asked for TLS");
        for (tls, sasl, named) in [
            (Some(TlsFiles::default()), None, "SSL needs"),
            (None, Some(login()), "SCRAM-SHA-512 needs"),
            (Some(TlsFiles::default()), Some(login()), "SASL_SSL needs"),
        ] {
            let checked = Security { tls, sasl }.check();
            if Security::IS_COMPILED_IN {
                assert!(checked.is_ok());
            } else {
                let error = checked.expect_err("it would connect unencrypted").to_string();
                assert!(error.contains(named) && error.contains("kafka-tls"), "{error}");
            }
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let shown = format!("{:?}", Security { tls: None, sasl: Some(login()) });
        assert!(!shown.contains("sesame"), "{shown}");
    }

    #[test]
    fn what_was_set_reaches_the_client() {
        let tls = TlsFiles { ca: Some("/ca.pem".into()), ..TlsFiles::default() };
        let mut config = ClientConfig::new();
        Security { tls: Some(tls), sasl: Some(login()) }.apply(&mut config);
        for (name, value) in [
            ("security.protocol", "SASL_SSL"),
            ("ssl.ca.location", "/ca.pem"),
            ("sasl.mechanism", "SCRAM-SHA-512"),
            ("sasl.username", "foreman"),
            ("sasl.password", "open sesame"),
        ] {
            assert_eq!(config.get(name), Some(value), "{name}");
        }
        assert_eq!(config.get("ssl.key.location"), None);
        assert_eq!(SaslMechanism::named("scram-sha-256"), Some(SaslMechanism::ScramSha256));
    }
}
