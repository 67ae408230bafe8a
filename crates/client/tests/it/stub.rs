//! A server that gives prepared answers, one connection each, and remembers what it was asked.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

/// What a request was, as far as the tests look.
#[derive(Debug)]
pub struct Asked {
    pub line: String,
    pub headers: Vec<String>,
    pub body: String,
}

pub struct Stub {
    pub url: String,
    asked: Receiver<Asked>,
}

impl Stub {
    /// Answers one connection after the other with these, then closes its door.
    pub fn answering(answers: impl IntoIterator<Item = (u16, String)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (tell, asked) = channel();
        let answers: Vec<_> = answers.into_iter().collect();
        std::thread::spawn(move || {
            for (status, body) in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let request = read(&mut BufReader::new(stream.try_clone().unwrap()));
                // The test may have seen enough.
                let _ = tell.send(request);
                let length = body.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                );
            }
        });
        Self { url, asked }
    }

    pub fn next_asked(&self) -> Asked {
        self.asked.recv_timeout(std::time::Duration::from_secs(10)).unwrap()
    }
}

/// The request that comes.
pub fn read(from: &mut impl BufRead) -> Asked {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        if line.trim_end().is_empty() {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let length = lines
        .iter()
        .find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(|text| text.parse().unwrap()));
    let mut body = vec![0; length.unwrap_or(0)];
    from.read_exact(&mut body).unwrap();
    Asked { line: lines.remove(0), headers: lines, body: String::from_utf8(body).unwrap() }
}
