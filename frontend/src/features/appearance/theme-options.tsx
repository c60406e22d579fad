import { Monitor, Moon, Sun } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { ThemeChoice } from '@/lib/browser/theme'

const ICONS = { system: <Monitor />, light: <Sun />, dark: <Moon /> } satisfies Record<
  ThemeChoice,
  React.ReactNode
>

/** The three themes with their names and icons, for menus and switches. */
export function useThemeOptions() {
  const { t } = useTranslation()
  return (['system', 'light', 'dark'] as const).map((value) => ({
    value,
    label: t(`theme.${value}`),
    icon: ICONS[value],
  }))
}
