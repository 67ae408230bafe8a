import { clsx } from 'clsx';
import type { LucideIcon } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import type { ReactNode } from 'react';

interface MenuProps {
  /** The button that opens it. */
  trigger: ReactNode;
  align?: 'start' | 'end';
  side?: 'top' | 'bottom';
  children: ReactNode;
}

/** Not modal: a modal one writes a style element, which the content security policy refuses. */
export function Menu({ trigger, align = 'end', side = 'bottom', children }: MenuProps) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align={align}
          side={side}
          sideOffset={6}
          collisionPadding={8}
          className="z-50 max-h-96 min-w-44 animate-enter overflow-y-auto rounded-lg border bg-surface p-1 text-sm shadow-high"
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

interface MenuItemProps {
  icon?: LucideIcon;
  danger?: boolean;
  checked?: boolean;
  disabled?: boolean;
  onSelect: () => void;
  children: ReactNode;
}

const ITEM =
  'flex min-h-8 cursor-pointer items-center gap-2 rounded-md px-2 outline-none select-none data-[disabled]:cursor-not-allowed data-[disabled]:opacity-50 data-[highlighted]:bg-hover';

export function MenuItem({
  icon: Icon,
  danger = false,
  checked,
  disabled = false,
  onSelect,
  children,
}: MenuItemProps) {
  const inside = (
    <>
      {Icon !== undefined && <Icon aria-hidden className="size-4 shrink-0" />}
      <span className="min-w-0 flex-1 truncate">{children}</span>
    </>
  );
  if (checked !== undefined) {
    return (
      <DropdownMenu.CheckboxItem
        checked={checked}
        disabled={disabled}
        onSelect={onSelect}
        className={clsx(ITEM, checked && 'font-semibold text-accent')}
      >
        {inside}
        <DropdownMenu.ItemIndicator>✓</DropdownMenu.ItemIndicator>
      </DropdownMenu.CheckboxItem>
    );
  }
  return (
    <DropdownMenu.Item disabled={disabled} onSelect={onSelect} className={clsx(ITEM, danger && 'text-bad')}>
      {inside}
    </DropdownMenu.Item>
  );
}

export function MenuLabel({ children }: { children: ReactNode }) {
  return <DropdownMenu.Label className="px-2 py-1 text-xs text-faint">{children}</DropdownMenu.Label>;
}

export function MenuSeparator() {
  return <DropdownMenu.Separator className="my-1 h-px bg-line" />;
}
