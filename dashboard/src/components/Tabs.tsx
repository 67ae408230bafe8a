import { Tabs as Radix } from 'radix-ui';
import type { ReactNode } from 'react';

interface Tab {
  id: string;
  label: ReactNode;
  content: ReactNode;
}

interface TabsProps {
  label: string;
  tabs: Tab[];
  value?: string;
  onChange?: (id: string) => void;
}

export function Tabs({ label, tabs, value, onChange }: TabsProps) {
  const first = tabs[0]?.id ?? '';
  return (
    <Radix.Root
      {...(value === undefined ? { defaultValue: first } : { value })}
      {...(onChange === undefined ? {} : { onValueChange: onChange })}
    >
      <Radix.List aria-label={label} className="flex gap-4 overflow-x-auto border-b px-4">
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.id}
            value={tab.id}
            className="-mb-px h-10 border-b-2 border-transparent text-sm font-medium whitespace-nowrap text-muted hover:text-ink data-[state=active]:border-accent data-[state=active]:text-ink"
          >
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.id} value={tab.id} className="p-4">
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
