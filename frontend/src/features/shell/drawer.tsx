import { Menu } from 'lucide-react'
import { Dialog as Primitive } from 'radix-ui'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { IconButton } from '@/ui/form/icon-button'
import { Logo } from '@/ui/drawings/logo'

export interface DrawerProps {
  isOpen: boolean
  onOpenChange: (isOpen: boolean) => void
  children: ReactNode
}

/** The top bar on small screens, with the sidebar that slides in. */
export function Drawer({ isOpen, onOpenChange, children }: DrawerProps) {
  const { t } = useTranslation()
  return (
    <header className="flex h-12 shrink-0 items-center gap-1 border-b border-border bg-sunken px-2 lg:hidden">
      <Primitive.Root open={isOpen} onOpenChange={onOpenChange}>
        <IconButton
          label={t('nav.open_menu')}
          aria-expanded={isOpen}
          icon={<Menu className="size-5" />}
          onClick={() => onOpenChange(true)}
        />
        <Primitive.Portal>
          <Primitive.Overlay className="fixed inset-0 z-30 bg-scrim lg:hidden" />
          <Primitive.Content
            aria-describedby={undefined}
            className="fixed inset-y-0 left-0 z-30 w-[min(20rem,86vw)] animate-drawer border-r border-border shadow-overlay outline-none lg:hidden"
          >
            <Primitive.Title className="sr-only">{t('nav.menu_title')}</Primitive.Title>
            {children}
          </Primitive.Content>
        </Primitive.Portal>
      </Primitive.Root>
      <Link to="/" aria-label={t('nav.home')} className="flex items-center gap-2 rounded-md px-1">
        <Logo className="size-6" />
        <span className="font-semibold tracking-tight">Slipway</span>
      </Link>
    </header>
  )
}
