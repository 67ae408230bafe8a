import { Monitor, Moon, Sun } from 'lucide-react';
import { IconButton } from '@/components/Button';
import { Menu, MenuItem } from '@/components/Menu';
import { setTheme, useTheme, type Theme } from './theme';

const THEMES = [
  { value: 'system', label: 'System', icon: Monitor },
  { value: 'light', label: 'Light', icon: Sun },
  { value: 'dark', label: 'Dark', icon: Moon },
] as const satisfies { value: Theme; label: string; icon: unknown }[];

export function ThemeMenu() {
  const theme = useTheme();
  const chosen = THEMES.find(({ value }) => value === theme) ?? THEMES[0];
  return (
    <Menu align="start" trigger={<IconButton label={`Theme: ${chosen.label}`} icon={chosen.icon} />}>
      {THEMES.map(({ value, label, icon }) => (
        <MenuItem key={value} icon={icon} checked={value === theme} onSelect={() => setTheme(value)}>
          {label}
        </MenuItem>
      ))}
    </Menu>
  );
}
