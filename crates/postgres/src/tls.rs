//! TLS towards the server, as other Postgres clients do it.
//!
//! `sslmode` in the address says whether: `disable`, `prefer` (if the server has it; the default) or `require`. Without a
//! certificate authority the channel is encrypted but the server is believed to be who it says: that is what these modes mean to
//! `libpq` too, and servers commonly show a certificate that nobody has signed. With [`Config::tls_ca`](crate::Config) the
//! server must prove its name.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::config::Config;
use crate::error::OpenError;

pub(crate) fn connector(config: &Config) -> Result<MakeRustlsConnect, OpenError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| OpenError::Address { reason: error.to_string() })?;
    let tls = match &config.tls_ca {
        Some(path) => builder.with_root_certificates(roots(path)?).with_no_client_auth(),
        None => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Believe { provider })).with_no_client_auth()
        }
    };
    Ok(MakeRustlsConnect::new(tls))
}

fn roots(path: &Path) -> Result<RootCertStore, OpenError> {
    let unusable = |why: String| OpenError::Address {
        reason: format!("cannot use the certificates in {}: {why}", path.display()),
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))? {
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
    }
    if roots.is_empty() { Err(unusable("the file contains none".into())) } else { Ok(roots) }
}

/// Takes any certificate, but only from who has its key.
#[derive(Debug)]
struct Believe {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Believe {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
