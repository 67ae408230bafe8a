// Where to go after signing in. A link may name any place, and only a path of ours is followed.

export function safeNext(next: unknown, origin: string = location.origin): string {
  if (typeof next !== 'string' || !next.startsWith('/')) return '/';
  let url: URL;
  try {
    url = new URL(next, origin);
  } catch {
    return '/';
  }
  // Read as the browser would read it: `//evil`, `/\evil` and `/<tab>/evil` are other hosts.
  if (url.origin !== origin || url.username !== '') return '/';
  const path = `${url.pathname}${url.search}${url.hash}`;
  // `/.//evil` has become `//evil`, which would be another host when read once more.
  if (path.startsWith('//')) return '/';
  if (url.pathname === '/sign-in') return '/';
  return path;
}
