// Values that the server hides. Written back as they are they would be sent as three stars, so they have to be typed anew.
import type { JobDraft } from './draft';
import { escapePointer, type Mistakes } from './spec';

export const MASK = '***';

const AGAIN = 'was hidden: enter it again, or remove it';

/** Where hidden values stand, each with what to do about it. */
export function maskedIn(draft: JobDraft): Mistakes {
  const found: Record<string, string> = {};
  if (draft.target === 'url') {
    for (const { name, value } of draft.headers) {
      if (value === MASK) found[`/headers/${escapePointer(name.trim())}`] = AGAIN;
    }
    if (draft.url.includes(MASK)) found['/url'] = AGAIN;
  }
  if (draft.target === 'command') {
    for (const { name, value } of draft.env) {
      if (value === MASK) found[`/env/${escapePointer(name.trim())}`] = AGAIN;
    }
  }
  if (draft.callbackUrl.includes(MASK)) found['/callback_url'] = AGAIN;
  return found;
}
