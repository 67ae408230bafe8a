//! The three pipes of a command.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdin;

use crate::output::LineSplitter;
use crate::target::excerpt::Excerpt;

const CHUNK: usize = 16 * 1024;

/// One stream of a command: its beginning is kept, its lines are published, and all of it is read.
pub(super) struct Captured {
    beginning: Excerpt,
    lines: LineSplitter,
}

impl Captured {
    pub(super) fn new(limit: usize, lines: LineSplitter) -> Self {
        Self { beginning: Excerpt::new(limit), lines }
    }

    /// Reads to the end, long after what is kept is full: a full pipe would make the command stand still. May be
    /// dropped at any moment; what was read until then is kept.
    pub(super) async fn read(&mut self, pipe: Option<impl AsyncRead + Unpin>) {
        let Some(mut pipe) = pipe else { return };
        let mut chunk = vec![0; CHUNK];
        // A pipe that cannot be read has nothing more to say.
        while let Ok(length @ 1..) = pipe.read(&mut chunk).await {
            self.beginning.push(&chunk[..length]);
            self.lines.push(&chunk[..length]);
        }
    }

    pub(super) fn into_text(self) -> (String, bool) {
        self.beginning.into_text()
    }
}

/// Gives the command its input, then the end of it. A command that does not want to read all of it does not have to: the
/// broken pipe is no error.
pub(super) async fn write_input(pipe: Option<ChildStdin>, input: &[u8]) {
    let Some(mut pipe) = pipe else { return };
    if let Err(error) = pipe.write_all(input).await {
        tracing::debug!("the command did not read all of its input: {error}");
    }
}
