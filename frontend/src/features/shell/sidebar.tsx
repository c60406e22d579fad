import { Command, LayoutList, LogOut, Plus, Settings } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, NavLink, useNavigate } from 'react-router'
import { useSignOut } from '@/api/people/users'
import { buttonClass } from '@/ui/form/button'
import { IconButton } from '@/ui/form/icon-button'
import { Kbd, MOD_KEY } from '@/ui/text/kbd'
import { Logo } from '@/ui/drawings/logo'

export interface SidebarProps {
  /**
   * The list of conversations and the theme menu. They belong to other features, so the route supplies them.
   */
  list: ReactNode
  themeMenu: ReactNode
  userName: string
  /** Whether the user may start tasks. */
  mayStart: boolean
  onOpenPalette: () => void
  /** Called when the user has chosen something. The drawer then closes. */
  onNavigate?: () => void
}

export function Sidebar({ list, themeMenu, userName, mayStart, onOpenPalette, onNavigate }: SidebarProps) {
  const { t } = useTranslation()
  return (
    <div className="flex h-full flex-col gap-3 bg-sunken">
      <div className="flex h-14 shrink-0 items-center px-4">
        <Link
          to="/"
          onClick={onNavigate}
          aria-label={t('nav.home')}
          className="flex items-center gap-2.5 rounded-md"
        >
          <Logo />
          <span className="text-[1.0625rem] font-semibold tracking-tight">Slipway</span>
        </Link>
      </div>
      <div className="flex flex-col gap-1.5 px-3">
        {mayStart && (
          <Link to="/" onClick={onNavigate} className={buttonClass('primary', 'md', 'w-full')}>
            <Plus aria-hidden className="size-4" />
            {t('nav.new_task')}
          </Link>
        )}
        <button
          type="button"
          onClick={onOpenPalette}
          className="flex h-9 items-center gap-2 rounded-md px-2.5 text-sm text-muted hover:bg-hover hover:text-text"
        >
          <Command aria-hidden className="size-4" />
          <span className="flex-1 truncate text-left">{t('nav.search')}</span>
          <Kbd>{MOD_KEY} K</Kbd>
        </button>
        <SidebarLink
          to="/conversations"
          icon={<LayoutList />}
          label={t('nav.all_conversations')}
          onClick={onNavigate}
        />
        <SidebarLink to="/settings" icon={<Settings />} label={t('nav.settings')} onClick={onNavigate} />
      </div>
      <div className="mx-3 border-t border-border" />
      {list}
      <SidebarFooter userName={userName} themeMenu={themeMenu} />
    </div>
  )
}

interface SidebarLinkProps {
  to: string
  icon: ReactNode
  label: string
  onClick?: () => void
}

function SidebarLink({ to, icon, label, onClick }: SidebarLinkProps) {
  return (
    <NavLink
      to={to}
      end={to === '/conversations'}
      onClick={onClick}
      className="flex h-9 items-center gap-2 rounded-md px-2.5 text-sm text-muted hover:bg-hover hover:text-text aria-[current=page]:bg-hover aria-[current=page]:text-text *:[svg]:size-4"
    >
      {icon}
      {label}
    </NavLink>
  )
}

function SidebarFooter({ userName, themeMenu }: Pick<SidebarProps, 'userName' | 'themeMenu'>) {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const signOut = useSignOut()
  return (
    <div className="flex h-14 shrink-0 items-center gap-1 border-t border-border px-3">
      <span className="flex min-w-0 flex-1 items-center gap-2 px-1 text-sm">
        <span
          aria-hidden
          className="grid size-7 shrink-0 place-items-center rounded-full bg-accent-soft text-xs font-semibold text-accent uppercase"
        >
          {userName.slice(0, 1)}
        </span>
        <span className="truncate">{userName}</span>
      </span>
      {themeMenu}
      <IconButton
        label={t('nav.sign_out')}
        className="!size-9"
        icon={<LogOut className="size-4" />}
        disabled={signOut.isPending}
        onClick={() =>
          signOut.mutate(undefined, {
            onSuccess: (more) => {
              if (more) window.location.assign(more.url)
              else void navigate('/sign-in')
            },
          })
        }
      />
    </div>
  )
}
