import { Moon, Sun } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { setTheme, useTheme } from '@/lib/browser/theme'
import { DropdownMenu, MenuRadioGroup } from '@/ui/overlay/dropdown-menu'
import { useThemeOptions } from './theme-options'

/** A button that opens the choice of theme. */
export function ThemeMenu() {
  const { t } = useTranslation()
  return (
    <DropdownMenu
      side="top"
      align="start"
      trigger={
        <button
          type="button"
          aria-label={t('nav.theme')}
          className="inline-flex size-9 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-text"
        >
          <Sun aria-hidden className="hidden size-4 scheme-light:block" />
          <Moon aria-hidden className="size-4 scheme-light:hidden" />
        </button>
      }
    >
      <MenuRadioGroup
        label={t('nav.theme')}
        value={useTheme()}
        options={useThemeOptions()}
        onValueChange={setTheme}
      />
    </DropdownMenu>
  )
}
