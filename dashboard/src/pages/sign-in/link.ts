/**
 * The key in the link that `foreman dev` prints: behind the #, which no server is sent. Only such a key is used without a click, and a server
 * that did not make it refuses it: no link signs anybody in as somebody else.
 */
export function linkedKey(hash: string): string | undefined {
  const key = new URLSearchParams(hash.replace(/^#/, '')).get('key');
  return key !== null && /^fm_dev_[0-9a-f]{64}$/.test(key) ? key : undefined;
}
