//! The format of the stream, as browsers read it (<https://html.spec.whatwg.org/multipage/server-sent-events.html>).
//!
//! Bytes come in as the network cut them: in the middle of a line, of a character, between the CR and the LF of one line's
//! end. Frames come out whole. What was begun when the connection broke is dropped with the parser: the server tells it
//! again after the last id.

use std::collections::VecDeque;
use std::time::Duration;

/// No event of a Foreman server comes near this. Whatever goes on for longer without an end is no such server.
pub(crate) const MOST: usize = 1024 * 1024;

const BOM: &[u8] = "\u{feff}".as_bytes();

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub name: String,
    pub data: String,
    /// The last id that was told, with this event or before it.
    pub id: Option<String>,
}

/// More than [`MOST`] bytes without the end of a line or of an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// A line without its end.
    line: Vec<u8>,
    /// The last byte ended a line and was a CR: an LF that follows belongs to it.
    after_cr: bool,
    has_begun: bool,
    name: String,
    data: String,
    has_data: bool,
    id: Option<String>,
    /// Of frames that are whole.
    last_id: Option<String>,
    retry: Option<Duration>,
}

impl Parser {
    /// Takes what came, and adds the frames that it completes.
    pub fn feed(&mut self, mut bytes: &[u8], frames: &mut VecDeque<Frame>) -> Result<(), TooLarge> {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.line.extend_from_slice(bytes);
                break;
            };
            self.line.extend_from_slice(&bytes[..end]);
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            self.take_line(&line, frames)?;
        }
        if self.line.len() > MOST { Err(TooLarge) } else { Ok(()) }
    }

    /// The id after which to resume: that of the last frame that was whole, with data or without.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server wants us to wait before we come back.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn take_line(&mut self, line: &[u8], frames: &mut VecDeque<Frame>) -> Result<(), TooLarge> {
        let line =
            if std::mem::replace(&mut self.has_begun, true) { line } else { line.strip_prefix(BOM).unwrap_or(line) };
        if line.is_empty() {
            self.dispatch(frames);
            return Ok(());
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match field {
            b"data" => {
                if self.data.len() + value.len() > MOST {
                    return Err(TooLarge);
                }
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(&value);
                self.has_data = true;
            }
            b"event" => self.name = value.into_owned(),
            b"id" if !value.contains('\0') => self.id = Some(value.into_owned()),
            b"retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = value.parse().ok().map(Duration::from_millis);
            }
            // A comment, or a field of a later time.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, frames: &mut VecDeque<Frame>) {
        // An empty id says that there is none from here on.
        self.last_id = self.id.clone().filter(|id| !id.is_empty());
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        if std::mem::take(&mut self.has_data) {
            let name = if name.is_empty() { "message".into() } else { name };
            frames.push_back(Frame { name, data, id: self.last_id.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(name: &str, data: &str, id: Option<&str>) -> Frame {
        Frame { name: name.into(), data: data.into(), id: id.map(Into::into) }
    }

    fn read(pieces: &[&[u8]]) -> (Vec<Frame>, Parser) {
        let (mut parser, mut frames) = (Parser::default(), VecDeque::new());
        for piece in pieces {
            parser.feed(piece, &mut frames).expect("small");
        }
        (frames.into(), parser)
    }

    const TEXT: &str = "\u{feff}: welcome\r\nretry: 1500\r\n\r\nevent: job\nid: 7.1\ndata: {\"a\":\ndata: 1}\n\n\
                        data:bare\r\rid: 8\n\nevent: heartbeat\nid\ndata: ü\n\nnobody: knows\ndata: last\n\n";

    fn expected() -> Vec<Frame> {
        vec![
            frame("job", "{\"a\":\n1}", Some("7.1")),
            frame("message", "bare", Some("7.1")),
            frame("heartbeat", "ü", None),
            frame("message", "last", None),
        ]
    }

    #[test]
    fn events_are_read_as_browsers_read_them() {
        let (frames, parser) = read(&[TEXT.as_bytes()]);
        assert_eq!(frames, expected());
        assert_eq!(parser.retry(), Some(Duration::from_millis(1500)));
    }

    #[test]
    fn however_the_network_cuts_it_the_same_is_read() {
        let bytes = TEXT.as_bytes();
        for cut in 0..=bytes.len() {
            let (frames, _) = read(&[&bytes[..cut], &bytes[cut..]]);
            assert_eq!(frames, expected(), "cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&single).0, expected());
    }

    #[test]
    fn an_event_that_is_not_whole_is_not_told_and_its_id_does_not_count() {
        let (frames, parser) = read(&[b"id: 1\ndata: a\n\nid: 2\ndata: b\n"]);
        assert_eq!(frames, [frame("message", "a", Some("1"))]);
        assert_eq!(parser.last_id(), Some("1"));
    }

    #[test]
    fn an_id_without_data_moves_on_silently() {
        let (frames, parser) = read(&[b"id: 1\ndata: a\n\nid: 2\n\n"]);
        assert_eq!(frames.len(), 1);
        assert_eq!(parser.last_id(), Some("2"));
    }

    #[test]
    fn what_is_no_number_or_no_id_is_passed_over() {
        let (frames, parser) = read(&[b"retry: soon\nid: a\0b\ndata\n\n"]);
        assert_eq!(frames, [frame("message", "", None)]);
        assert_eq!(parser.retry(), None);
    }

    #[test]
    fn what_never_ends_is_refused_before_it_fills_the_memory() {
        let (mut parser, mut frames) = (Parser::default(), VecDeque::new());
        let piece = vec![b'x'; MOST / 4];
        let fed: Vec<_> = (0..6).map(|_| parser.feed(&piece, &mut frames)).collect();
        assert_eq!((fed[0].is_ok(), fed[5].is_err()), (true, true), "one line");

        let mut parser = Parser::default();
        let line = [b"data: ".as_slice(), &piece, b"\n"].concat();
        let fed: Vec<_> = (0..6).map(|_| parser.feed(&line, &mut frames)).collect();
        assert_eq!((fed[0].is_ok(), fed[5].is_err()), (true, true), "one event");
    }
}
