import { Tooltip as Radix } from 'radix-ui';
import type { ReactNode } from 'react';

/** Needs `TooltipProvider` somewhere above. The child must take the focus for those without a mouse. */
export function Tooltip({ text, children }: { text: ReactNode; children: ReactNode }) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          sideOffset={6}
          collisionPadding={8}
          className="z-50 max-w-xs animate-enter rounded-md bg-ink px-2 py-1 text-xs text-bg shadow-high"
        >
          {text}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

export function TooltipProvider({ children }: { children: ReactNode }) {
  return <Radix.Provider delayDuration={300}>{children}</Radix.Provider>;
}
