import { clsx } from 'clsx';
import type { ComponentProps, ReactNode } from 'react';

/** A table in a box of its own that scrolls sideways where the page must not. */
export function Table({
  label,
  children,
  className,
}: {
  label: string;
  children: ReactNode;
  className?: string;
}) {
  return (
    <div role="region" aria-label={label} tabIndex={0} className="overflow-x-auto rounded-[inherit]">
      <table className={clsx('w-full border-collapse text-sm', className)}>
        <caption className="sr-only">{label}</caption>
        {children}
      </table>
    </div>
  );
}

export function Th({ className, children, ...rest }: ComponentProps<'th'>) {
  return (
    <th
      scope="col"
      className={clsx('h-9 px-3 text-left text-xs font-medium whitespace-nowrap text-muted', className)}
      {...rest}
    >
      {children}
    </th>
  );
}

export function Td({ className, children, ...rest }: ComponentProps<'td'>) {
  return (
    <td className={clsx('h-10 border-t px-3 py-1.5 align-middle', className)} {...rest}>
      {children}
    </td>
  );
}

export function Tr({ className, children, ...rest }: ComponentProps<'tr'>) {
  return (
    <tr className={clsx('transition-colors hover:bg-hover', className)} {...rest}>
      {children}
    </tr>
  );
}
