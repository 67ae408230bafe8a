//! Messages of a broker that could not be read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::document::ParkedDocument;
use crate::ports::ParkedView;

impl From<ParkedView> for ParkedDocument {
    fn from(view: ParkedView) -> Self {
        let ParkedView { number, parked_at, message } = view;
        Self {
            number,
            parked_at,
            topic: message.topic,
            partition: message.partition,
            offset: message.offset,
            reason: message.reason,
            size: message.size,
            key: message.key.map(|key| STANDARD.encode(key)),
            content: STANDARD.encode(message.bytes),
        }
    }
}
