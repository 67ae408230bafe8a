//! Which events a reader or a consumer wants. What is not restricted is all of it; restrictions apply together.

use crate::Event;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    pub(crate) tenant: Option<String>,
    pub(crate) stream_types: Option<Vec<String>>,
    pub(crate) event_types: Option<Vec<String>>,
}

impl Scope {
    /// Every event.
    pub fn all() -> Self {
        Self::default()
    }

    /// Only events of one tenant.
    #[must_use]
    pub fn tenant(self, tenant: impl Into<String>) -> Self {
        Self { tenant: Some(tenant.into()), ..self }
    }

    /// Only events of streams of these types.
    #[must_use]
    pub fn stream_types<T: Into<String>>(self, types: impl IntoIterator<Item = T>) -> Self {
        Self { stream_types: Some(types.into_iter().map(Into::into).collect()), ..self }
    }

    /// Only events of these types.
    #[must_use]
    pub fn event_types<T: Into<String>>(self, types: impl IntoIterator<Item = T>) -> Self {
        Self { event_types: Some(types.into_iter().map(Into::into).collect()), ..self }
    }

    pub fn includes(&self, event: &Event) -> bool {
        let has =
            |wanted: &Option<Vec<String>>, found: &String| wanted.as_ref().is_none_or(|types| types.contains(found));
        self.tenant.as_ref().is_none_or(|tenant| *tenant == event.stream.tenant)
            && has(&self.stream_types, &event.stream.stream_type)
            && has(&self.event_types, &event.event_type)
    }
}
