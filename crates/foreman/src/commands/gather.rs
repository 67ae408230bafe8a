//! Lists that are longer than a page.

use foreman_client::ListDocument;

/// The most that a server gives at once.
const PAGE: usize = 500;

/// Page by page, as many as were asked for.
pub async fn gather<T>(
    wanted: usize,
    page: impl AsyncFn(usize, Option<&str>) -> anyhow::Result<ListDocument<T>>,
) -> anyhow::Result<ListDocument<T>> {
    let mut found = ListDocument { items: Vec::new(), next: None };
    while found.items.len() < wanted {
        let limit = (wanted - found.items.len()).min(PAGE);
        let next = page(limit, found.next.as_deref()).await?;
        found.items.extend(next.items);
        found.next = next.next;
        if found.next.is_none() {
            break;
        }
    }
    Ok(found)
}
