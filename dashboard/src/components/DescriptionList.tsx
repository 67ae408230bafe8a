import type { ReactNode } from 'react';

/** Facts under their names. */
export function DescriptionList({ items }: { items: { name: string; value: ReactNode }[] }) {
  return (
    <dl className="grid grid-cols-[minmax(6rem,auto)_1fr] gap-x-4 gap-y-1.5 text-sm">
      {items.map(({ name, value }) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0 break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
