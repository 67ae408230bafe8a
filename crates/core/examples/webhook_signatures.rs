//! Signs messages for another library to verify, and verifies what another library signed.
//!
//!   webhook_signatures sign SECONDS     prints messages, signed at that moment, as JSON
//!   webhook_signatures verify SECONDS   reads messages as JSON, each with whether it is expected to verify
//!
//! `scripts/check-webhook-signatures` runs it against the official libraries of other languages. The time is passed in:
//! those libraries look at the clock of the machine.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::process::ExitCode;

use foreman_core::signing::{self, MessageId, Received, SigningSecret, TOLERANCE};
use foreman_core::{JobId, Timestamp};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Message {
    secrets: Vec<String>,
    headers: BTreeMap<String, String>,
    body: String,
    #[serde(default)]
    is_good: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [verb, seconds] = arguments.as_slice() else { return usage() };
    let Ok(now) = seconds.parse::<i64>().map(|seconds| Timestamp::from_micros(seconds * 1_000_000)) else {
        return usage();
    };
    let done = match verb.as_str() {
        "sign" => sign(now),
        "verify" => verify(now),
        _ => return usage(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: webhook_signatures sign|verify SECONDS_SINCE_1970");
    ExitCode::from(2)
}

fn sign(now: Timestamp) -> Result<(), String> {
    let bodies = [
        String::new(),
        "{}".into(),
        r#"{"type":"job.completed","data":{"id":"0198","sequence":1}}"#.into(),
        "not JSON, with a full stop. And\r\nanother line\n".into(),
        r#"{"name":"ünï 日本 🦀","quote":"\"\\\u0000"}"#.into(),
        format!(r#"{{"long":"{}"}}"#, "x".repeat(100_000)),
    ];
    let mut messages = Vec::new();
    for body in bodies {
        for count in 1..=3 {
            let secrets: Vec<SigningSecret> = (0..count).map(|_| SigningSecret::fresh()).collect();
            let id = MessageId::of_job(JobId::fresh());
            let signed = signing::sign(&secrets[0], &secrets[1..], &id, now, body.as_bytes());
            messages.push(Message {
                secrets: secrets.iter().map(|secret| secret.text().reveal().to_owned()).collect(),
                headers: signed.headers().into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
                body: body.clone(),
                is_good: true,
            });
        }
    }
    let json = serde_json::to_string(&messages).map_err(|error| error.to_string())?;
    println!("{json}");
    Ok(())
}

fn verify(now: Timestamp) -> Result<(), String> {
    let mut json = String::new();
    io::stdin().read_to_string(&mut json).map_err(|error| error.to_string())?;
    let messages: Vec<Message> = serde_json::from_str(&json).map_err(|error| error.to_string())?;
    for message in &messages {
        let secrets: Result<Vec<SigningSecret>, _> = message.secrets.iter().map(|text| text.parse()).collect();
        let secrets = secrets.map_err(|error| error.to_string())?;
        let header = |name| message.headers.get(name).map_or("", String::as_str);
        let received = Received {
            id: header(signing::ID),
            timestamp: header(signing::TIMESTAMP),
            signature: header(signing::SIGNATURE),
        };
        let verified = signing::verify(&secrets, received, message.body.as_bytes(), now, TOLERANCE);
        if verified.is_ok() != message.is_good {
            return Err(format!(
                "{received:?} should {}: {verified:?}",
                if message.is_good { "verify" } else { "not" }
            ));
        }
    }
    let good = messages.iter().filter(|message| message.is_good).count();
    println!("{good} messages verify and {} do not, as they should", messages.len() - good);
    Ok(())
}
