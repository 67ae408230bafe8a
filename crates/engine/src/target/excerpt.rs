//! The first so-and-so many bytes of something that may never end.
//!
//! What a target answers and what a command prints is foreign: of any length, in any encoding. An excerpt holds no more
//! than its limit however much is pushed, and what it gives back is text that every store and every browser takes.

#[derive(Debug)]
pub(super) struct Excerpt {
    limit: usize,
    kept: Vec<u8>,
    cut: bool,
}

impl Excerpt {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, kept: Vec::new(), cut: false }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = self.limit - self.kept.len();
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.cut |= bytes.len() > room;
    }

    /// There was more, though nobody read it.
    pub(super) fn mark_cut(&mut self) {
        self.cut = true;
    }

    /// The text, and whether there was more.
    pub(super) fn into_text(self) -> (String, bool) {
        let Self { limit, mut kept, mut cut } = self;
        if cut {
            kept.truncate(whole_characters(&kept));
        }
        let mut text = readable(&kept);
        // Each byte that is no text becomes a sign of three bytes.
        if text.len() > limit {
            text.truncate(text.floor_char_boundary(limit));
            cut = true;
        }
        (text, cut)
    }
}

/// How many of these bytes to keep so that a character at the end is not split; what is no text at all is left alone.
pub(crate) fn whole_characters(bytes: &[u8]) -> usize {
    let last = bytes.len().saturating_sub(4);
    match bytes[last..].utf8_chunks().last() {
        Some(chunk) if is_begun_character(chunk.invalid()) => bytes.len() - chunk.invalid().len(),
        _ => bytes.len(),
    }
}

/// The first bytes of a character whose rest is missing.
fn is_begun_character(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

/// As text. What is no UTF-8 is replaced, and so is NUL, which neither a Postgres text nor its JSON can hold.
pub(crate) fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(limit: usize, pushes: &[&[u8]]) -> (String, bool) {
        let mut excerpt = Excerpt::new(limit);
        for bytes in pushes {
            excerpt.push(bytes);
        }
        excerpt.into_text()
    }

    #[test]
    fn what_fits_is_kept_whole_and_not_marked() {
        assert_eq!(excerpt(5, &[b"ab", b"", b"cde"]), ("abcde".into(), false));
        assert_eq!(excerpt(5, &[]), (String::new(), false));
    }

    #[test]
    fn what_does_not_fit_is_marked_once_and_for_all() {
        assert_eq!(excerpt(5, &[b"abcdef"]), ("abcde".into(), true));
        assert_eq!(excerpt(5, &[b"abcde", b"f", b""]), ("abcde".into(), true));
    }

    #[test]
    fn a_character_is_never_split_by_the_cut() {
        assert_eq!(excerpt(4, &["abcä".as_bytes()]), ("abc".into(), true));
        assert_eq!(excerpt(5, &["ab€€".as_bytes()]), ("ab€".into(), true));
        assert_eq!(excerpt(6, &["ab🦀🦀".as_bytes()]), ("ab🦀".into(), true));
        assert_eq!(excerpt(5, &["ab🦀".as_bytes()]), ("ab".into(), true));
    }

    #[test]
    fn what_is_no_text_is_replaced_and_the_limit_still_holds() {
        assert_eq!(excerpt(20, &[b"a\xffb\0c"]), ("a\u{fffd}b\u{fffd}c".into(), false));
        let (text, cut) = excerpt(64, &[&[0xff; 64]]);
        assert!(cut && text.len() <= 64 && text.chars().all(|sign| sign == '\u{fffd}'), "{text}");
    }
}
