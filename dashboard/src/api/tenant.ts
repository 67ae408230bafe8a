// Which tenant an operator's tab is about. Each tab has its own choice; a new tab begins with the latest one.
// `null`: the key's own tenant, and no header is sent.

const NAME = 'foreman.tenant';

let chosen: string | null = read();

export function chosenTenant(): string | null {
  return chosen;
}

export function chooseTenant(tenant: string | null): void {
  chosen = tenant;
  for (const storage of [sessionStorage, localStorage]) {
    if (tenant === null) storage.removeItem(NAME);
    else storage.setItem(NAME, tenant);
  }
  // An explicit "own tenant" of this tab outlives the choice of another.
  if (tenant === null) sessionStorage.setItem(NAME, '');
}

function read(): string | null {
  const own = sessionStorage.getItem(NAME);
  if (own !== null) return own === '' ? null : own;
  return localStorage.getItem(NAME);
}
