import type { ReactNode } from 'react';

/** A link to an address that came from data: followed only if it is http or https, and told nothing about us. */
export function SafeLink({ href, children }: { href: string; children?: ReactNode }) {
  if (!isWeb(href)) return <span className="break-all">{children ?? href}</span>;
  return (
    <a
      href={href}
      target="_blank"
      rel="noopener noreferrer"
      className="break-all text-accent hover:underline"
    >
      {children ?? href}
    </a>
  );
}

function isWeb(href: string): boolean {
  try {
    const { protocol } = new URL(href);
    return protocol === 'http:' || protocol === 'https:';
  } catch {
    return false;
  }
}
