//! The key that everything at rest is sealed with.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};
use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::KeyInit as _;
use rand::Rng as _;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::NotAKeyring;
use crate::secret::Secret;

/// 32 bytes that open everything that was sealed with them.
#[derive(Clone)]
pub struct MasterKey {
    pub(super) bytes: Zeroizing<[u8; 32]>,
    id: String,
}

pub(super) const KEY_ID_LETTERS: usize = 8;

impl MasterKey {
    pub fn fresh() -> Self {
        let mut bytes = Zeroizing::new([0; 32]);
        rand::rng().fill_bytes(&mut *bytes);
        Self::of(bytes)
    }

    fn of(bytes: Zeroizing<[u8; 32]>) -> Self {
        // Of a hash: it is written beside every value it seals.
        let hash = Sha256::new().chain_update(b"foreman master key id").chain_update(*bytes).finalize();
        let id = format!("{:08x}", u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]));
        Self { bytes, id }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// As it goes into `FOREMAN_SECRET_KEY`: 44 characters of base64.
    pub fn text(&self) -> Secret {
        Secret::new(STANDARD.encode(*self.bytes))
    }

    pub(super) fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.bytes).into())
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({})", self.id)
    }
}

impl FromStr for MasterKey {
    type Err = NotAKeyring;

    /// Base64 of 32 bytes (`openssl rand -base64 32`) or 64 hexadecimal digits (`openssl rand -hex 32`).
    fn from_str(text: &str) -> Result<Self, NotAKeyring> {
        let decoded = if text.len() == 64 { from_hex(text) } else { from_base64(text) };
        let decoded = Zeroizing::new(decoded.ok_or(NotAKeyring::Form)?);
        let bytes = <[u8; 32]>::try_from(decoded.as_slice()).map_err(|_| NotAKeyring::Form)?;
        if bytes.iter().all(|byte| *byte == bytes[0]) {
            return Err(NotAKeyring::NotRandom);
        }
        Ok(Self::of(Zeroizing::new(bytes)))
    }
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    [STANDARD, URL_SAFE, URL_SAFE_NO_PAD].iter().find_map(|engine| engine.decode(text).ok())
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    text.as_bytes().chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect()
}
