import { useQueryClient } from '@tanstack/react-query';
import { Building2, ChevronsUpDown } from 'lucide-react';
import { useIsOperator, useWhoami } from '@/api/session';
import { chooseTenant, chosenTenant } from '@/api/tenant';
import { useTenants } from '@/api/tenants';
import { Menu, MenuItem, MenuLabel } from '@/components/Menu';

/** Whose jobs this tab shows. Only an operator has a choice, and only where there is more than one tenant. */
export function TenantSwitcher() {
  const cache = useQueryClient();
  const who = useWhoami().data;
  const isOperator = useIsOperator();
  const tenants = useTenants(isOperator).data?.items ?? [];
  if (!isOperator || who === undefined || tenants.length < 2) return null;
  const shown = chosenTenant() ?? who.tenant;
  const choose = (tenant: string) => {
    if (tenant === shown) return;
    chooseTenant(tenant);
    // Nothing of one tenant may be seen under the name of another.
    cache.clear();
    location.assign('/');
  };
  return (
    <Menu
      align="start"
      wide
      trigger={
        <button
          type="button"
          aria-label={`Tenant: ${shown}`}
          className="flex h-8 w-full items-center gap-2 rounded-md border border-line-strong bg-surface px-2.5 text-sm font-medium transition-colors hover:bg-hover"
        >
          <Building2 aria-hidden className="size-3.5 text-muted" />
          <span className="flex-1 truncate text-left">{shown}</span>
          <ChevronsUpDown aria-hidden className="size-3.5 text-faint" />
        </button>
      }
    >
      <MenuLabel>Show the jobs of</MenuLabel>
      {tenants.map((tenant) => (
        <MenuItem key={tenant.id} checked={tenant.id === shown} onSelect={() => choose(tenant.id)}>
          {tenant.id}
        </MenuItem>
      ))}
    </Menu>
  );
}
