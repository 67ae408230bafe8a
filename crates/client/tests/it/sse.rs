//! A server of streams that does to them what networks do: cuts, stalls, splits. One connection after the other, each by
//! its script.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::stub::{Asked, read};

/// What a connection says and does, in order. When it is at its end the connection is closed.
pub enum Act {
    /// The head of a stream.
    Open,
    Say(String),
    /// In pieces of so many bytes, each in a packet of its own.
    Split(usize, String),
    /// Says nothing until the client leaves.
    Stall,
    /// Another answer altogether.
    Refuse(u16, &'static str, String),
}

pub struct Streams {
    pub url: String,
    asked: Receiver<Asked>,
}

impl Streams {
    pub fn playing(scripts: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (tell, asked) = channel();
        std::thread::spawn(move || {
            for script in scripts {
                let (stream, _) = listener.accept().unwrap();
                let tell = tell.clone();
                // One that stalls does not hold up the next.
                std::thread::spawn(move || play(stream, script, &tell));
            }
        });
        Self { url, asked }
    }

    pub fn next_asked(&self) -> Asked {
        self.asked.recv_timeout(Duration::from_secs(10)).unwrap()
    }

    pub fn was_asked_again(&self) -> bool {
        self.asked.try_recv().is_ok()
    }
}

fn play(mut stream: TcpStream, script: Vec<Act>, tell: &Sender<Asked>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let _ = tell.send(read(&mut reader));
    stream.set_nodelay(true).unwrap();
    for act in script {
        // A client that has left is no failure of the stage.
        let _ = match act {
            Act::Open => {
                write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
            }
            Act::Say(text) => stream.write_all(text.as_bytes()),
            Act::Split(length, text) => text.as_bytes().chunks(length).try_for_each(|piece| {
                stream.write_all(piece)?;
                stream.flush()
            }),
            Act::Stall => std::io::Read::read(&mut reader, &mut [0; 16]).map(drop),
            Act::Refuse(status, headers, body) => {
                let length = body.len();
                write!(
                    stream,
                    "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
                )
            }
        };
    }
}
