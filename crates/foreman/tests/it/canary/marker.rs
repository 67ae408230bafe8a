//! Marker secrets: one for each path, so that a find says which path leaked.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};

/// Where something may be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// What a process of ours logged or printed while it served.
    Log,
    /// What a command printed, for its caller or about a mistake.
    Said,
    /// What the API answered, heads and bodies, problems among them.
    Answer,
    /// `/metrics`, `/readyz`, `/healthz`.
    Probe,
    /// The words with which any process of this machine was started, which all its users can read.
    Arguments,
    /// The environment of a command that a job runs.
    Environment,
    Database,
    /// What a target was sent.
    Target,
    /// What a receiver of webhooks was sent.
    Hook,
}

pub struct Marker {
    /// The path it was pushed through.
    path: String,
    /// It, and what it may have become on the way.
    forms: Vec<(&'static str, Vec<u8>)>,
    /// Where it may be.
    may: Vec<Kind>,
    /// Where it has to be: the proof that the path was walked and the place searched.
    must: Vec<Kind>,
}

/// Something that was collected.
pub struct Piece {
    pub kind: Kind,
    pub name: String,
    pub bytes: Vec<u8>,
}

#[derive(Default)]
pub struct Canary {
    markers: Vec<Marker>,
    pieces: Vec<Piece>,
}

impl Canary {
    /// A fresh marker that may be nowhere but where it has to be.
    pub fn secret(&mut self, path: &str, must: &[Kind]) -> String {
        self.allowed(path, &[], must)
    }

    /// A fresh marker that may be in some places, and has to be in others.
    pub fn allowed(&mut self, path: &str, may: &[Kind], must: &[Kind]) -> String {
        let text = fresh();
        self.watch(path, &text, may, must);
        text
    }

    /// The same for a secret that somebody else has made.
    pub fn watch(&mut self, path: &str, text: &str, may: &[Kind], must: &[Kind]) {
        assert!(text.len() >= 16, "{path}: too short to be found by chance alone");
        let mut forms = forms(text.as_bytes());
        // What is base64 may be kept as the bytes that it stands for.
        if let Ok(bytes) = BASE64_STANDARD.decode(text) {
            forms.extend(self::forms(&bytes));
        }
        self.markers.push(Marker { path: path.to_owned(), forms, may: may.to_vec(), must: must.to_vec() });
    }

    pub fn collect(&mut self, kind: Kind, name: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.pieces.push(Piece { kind, name: name.into(), bytes: bytes.into() });
    }

    /// Everything that is where it may not be, and everything that is not where it has to be.
    pub fn findings(&self) -> Vec<String> {
        let needles = Needles::of(&self.markers);
        let mut seen = vec![Vec::new(); self.markers.len()];
        let mut findings = Vec::new();
        for piece in &self.pieces {
            for (which, (form, place)) in needles.find(&piece.bytes) {
                let (marker, kind) = (&self.markers[which], piece.kind);
                seen[which].push(kind);
                if !marker.may.contains(&kind) && !marker.must.contains(&kind) {
                    let around = around(&piece.bytes, place);
                    findings.push(format!("LEAK: {} is in {} ({kind}) as {form}: {around}", marker.path, piece.name));
                }
            }
        }
        for (marker, seen) in self.markers.iter().zip(seen) {
            for kind in marker.must.iter().filter(|kind| !seen.contains(kind)) {
                findings.push(format!("NOT SEEN: {} is nowhere in {kind}, so nothing was proved", marker.path));
            }
        }
        findings
    }

    pub fn assert_silent(&self) {
        println!("searched {} places for {} markers", self.pieces.len(), self.markers.len());
        let findings = self.findings();
        assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
    }
}

/// All forms of all markers, to be searched for at once: logs at this level are long.
struct Needles<'a> {
    /// By their first letters.
    by_head: HashMap<&'a [u8], Vec<Needle<'a>>>,
    /// Whether any begins with these two.
    begins: Vec<bool>,
}

/// Which marker, in which form.
type Needle<'a> = (usize, &'static str, &'a [u8]);

/// Letters by which a form is looked up; all are longer.
const HEAD: usize = 8;

impl<'a> Needles<'a> {
    fn of(markers: &'a [Marker]) -> Self {
        let mut needles = Self { by_head: HashMap::new(), begins: vec![false; 1 << 16] };
        for (which, marker) in markers.iter().enumerate() {
            for (form, bytes) in &marker.forms {
                needles.by_head.entry(&bytes[..HEAD]).or_default().push((which, form, bytes));
                needles.begins[pair(bytes)] = true;
            }
        }
        needles
    }

    /// The first place of each marker.
    fn find(&self, bytes: &[u8]) -> BTreeMap<usize, (&'static str, usize)> {
        let mut found = BTreeMap::new();
        for (place, window) in bytes.windows(HEAD).enumerate() {
            if !self.begins[pair(window)] {
                continue;
            }
            for (which, form, needle) in self.by_head.get(window).into_iter().flatten() {
                if bytes[place..].starts_with(needle) {
                    found.entry(*which).or_insert((*form, place));
                }
            }
        }
        found
    }
}

fn pair(bytes: &[u8]) -> usize {
    usize::from(bytes[0]) << 8 | usize::from(bytes[1])
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Letters and digits only, so that every path takes it as it is.
pub fn fresh() -> String {
    format!("cnry{:032x}", rand::random::<u128>())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

fn percent(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat()
}

fn forms(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let (hex, percent) = (hex(bytes), percent(bytes));
    let mut forms = vec![
        ("it is", bytes.to_vec()),
        ("hexadecimal", hex.to_uppercase().into_bytes()),
        ("hexadecimal", hex.into_bytes()),
        ("percent-encoded", percent.to_lowercase().into_bytes()),
        ("percent-encoded", percent.into_bytes()),
    ];
    // Inside something longer it begins at one of three places in a group of letters.
    for shift in 0..3 {
        let padded = [&[0; 2][..shift], bytes].concat();
        for encoded in [BASE64_STANDARD_NO_PAD.encode(&padded), BASE64_URL_SAFE_NO_PAD.encode(&padded)] {
            // The first letters and the last ones depend on what stands beside it.
            let first = (shift * 8).div_ceil(6);
            forms.push(("base64", encoded.as_bytes()[first..encoded.len() - 2].to_vec()));
        }
    }
    forms
}

fn around(bytes: &[u8], place: usize) -> String {
    let (from, to) = (place.saturating_sub(200), (place + 120).min(bytes.len()));
    String::from_utf8_lossy(&bytes[from..to]).escape_debug().to_string()
}

#[test]
fn what_is_hidden_is_found_in_every_disguise() {
    let mut canary = Canary::default();
    let secret = canary.secret("a path", &[Kind::Target]);
    let control = canary.allowed("another", &[Kind::Answer], &[Kind::Database]);
    canary.collect(Kind::Target, "a target", format!("x-token: {secret}"));
    canary.collect(Kind::Database, "a row", format!("{{{control}}}"));
    canary.collect(Kind::Answer, "an answer", control.clone());
    canary.collect(Kind::Log, "a log", "nothing");
    assert_eq!(canary.findings(), Vec::<String>::new());

    let (hex, percent) = (hex(secret.as_bytes()), percent(secret.as_bytes()));
    let mut disguises = vec![secret.clone(), hex.clone(), hex.to_uppercase(), percent.to_lowercase(), percent];
    for before in ["", "u", "u:", "use"] {
        disguises.push(BASE64_STANDARD.encode(format!("{before}{secret}and more")));
    }
    for disguise in disguises {
        canary.collect(Kind::Log, "a log", format!("said {disguise} aloud"));
        let findings = canary.findings();
        assert_eq!(findings.len(), 1, "{disguise}: {findings:?}");
        assert!(findings[0].starts_with("LEAK: a path is in a log (Log)"), "{findings:?}");
        canary.pieces.pop();
    }
    canary.collect(Kind::Log, "a log", control);
    canary.secret("a third", &[Kind::Hook]);
    let findings = canary.findings();
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert!(findings[0].starts_with("LEAK: another") && findings[1].starts_with("NOT SEEN: a third"), "{findings:?}");

    let key = BASE64_STANDARD.encode([7; 32]);
    let mut canary = Canary::default();
    canary.watch("a key", &key, &[], &[]);
    canary.collect(Kind::Database, "a row", [&b"blob"[..], &[7; 32]].concat());
    assert_eq!(canary.findings().len(), 1, "the bytes that it stands for");
}
