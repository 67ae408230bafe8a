import { fireEvent } from '@testing-library/react';

/** Writes into a field at once: key by key, a long form is drawn once per key. */
export function fill(field: HTMLElement, value: string): void {
  fireEvent.change(field, { target: { value } });
}
