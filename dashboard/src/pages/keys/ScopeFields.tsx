import type { Scope } from '@/api/documents';
import { Badge } from '@/components/Badge';
import { Checkbox } from '@/components/Field';
import { inOrder, PRESETS, SCOPES } from './scopes';

interface ScopeFieldsProps {
  chosen: Scope[];
  onChange: (scopes: Scope[]) => void;
  error: string | undefined;
}

/** What the key may do, each with what that means. */
export function ScopeFields({ chosen, onChange, error }: ScopeFieldsProps) {
  return (
    <fieldset>
      <legend className="mb-1 text-xs font-medium text-muted">Scopes</legend>
      <p className="mb-2 flex flex-wrap gap-1">
        {PRESETS.map(({ name, scopes }) => (
          <button
            key={name}
            type="button"
            aria-pressed={scopes.join(' ') === chosen.join(' ')}
            onClick={() => onChange(scopes)}
            className="rounded-full border px-2 text-xs text-muted hover:bg-hover hover:text-ink aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-accent"
          >
            {name}
          </button>
        ))}
      </p>
      <div className="space-y-1.5">
        {SCOPES.map(({ scope, says, strong }) => (
          <Checkbox
            key={scope}
            className="flex w-full items-start! [&>input]:mt-0.5 [&>input]:shrink-0"
            checked={chosen.includes(scope)}
            onChange={(event) =>
              onChange(
                inOrder(event.target.checked ? [...chosen, scope] : chosen.filter((each) => each !== scope)),
              )
            }
            label={
              <span>
                {says} <code className="font-mono text-xs text-faint">{scope}</code>{' '}
                {strong === true && <Badge tone="warn">powerful</Badge>}
              </span>
            }
          />
        ))}
      </div>
      {error !== undefined && <p className="mt-1 text-xs text-bad">{error}</p>}
    </fieldset>
  );
}
