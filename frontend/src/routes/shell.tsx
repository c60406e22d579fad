import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Navigate, Outlet } from 'react-router'
import { isApiError } from '@/api/errors'
import type { User } from '@/api/types'
import { currentUserQuery, mayWork } from '@/api/people/users'
import { ThemeMenu } from '@/features/appearance/theme-menu'
import { SidebarList } from '@/features/conversations/sidebar-list'
import { Drawer } from '@/features/shell/drawer'
import { Sidebar } from '@/features/shell/sidebar'
import { ErrorBoundary } from '@/ui/feedback/error-boundary'
import { ErrorState } from '@/ui/feedback/error-state'
import { LoadingPage } from './loading-page'
import { useUserStream } from './use-user-stream'

const Palette = lazy(() => import('@/features/palette/palette').then((m) => ({ default: m.Palette })))

/** The frame of every signed-in page. Users who are not signed in are sent to the sign-in page. */
export function Shell() {
  const { t } = useTranslation()
  const user = useQuery(currentUserQuery())

  if (user.data) return <Frame user={user.data} />
  if (user.isPending) return <LoadingPage />
  if (isApiError(user.error) && user.error.status === 401)
    return <Navigate to="/sign-in" state={{ reason: user.error.code }} replace />
  return (
    <main className="mx-auto grid min-h-full max-w-xl place-content-center p-6">
      <ErrorState error={user.error} title={t('error.load_user')} onRetry={() => void user.refetch()} />
    </main>
  )
}

function Frame({ user }: { user: User }) {
  const { t } = useTranslation()
  const [isDrawerOpen, setDrawerOpen] = useState(false)
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  usePaletteShortcut(() => setPaletteOpen((open) => !open))
  useUserStream()

  const sidebar = (onNavigate?: () => void) => (
    <Sidebar
      userName={user.name}
      mayStart={mayWork(user)}
      list={
        <ErrorBoundary title={t('error.boundary')}>
          <SidebarList onNavigate={onNavigate} />
        </ErrorBoundary>
      }
      themeMenu={<ThemeMenu />}
      onOpenPalette={() => {
        onNavigate?.()
        setPaletteOpen(true)
      }}
      onNavigate={onNavigate}
    />
  )

  return (
    <div className="flex h-full flex-col lg:flex-row">
      <a
        href="#content"
        className="sr-only z-50 rounded-md bg-accent px-3 py-2 text-on-accent focus:not-sr-only focus:absolute focus:top-2 focus:left-2"
      >
        {t('nav.skip')}
      </a>
      <nav aria-label={t('nav.main')} className="hidden w-72 shrink-0 border-r border-border lg:block">
        {sidebar()}
      </nav>
      <Drawer isOpen={isDrawerOpen} onOpenChange={setDrawerOpen}>
        {sidebar(() => setDrawerOpen(false))}
      </Drawer>
      <main
        id="content"
        tabIndex={-1}
        className="relative min-h-0 min-w-0 flex-1 overflow-y-auto outline-none"
      >
        <Outlet />
      </main>
      {isPaletteOpen && (
        <Suspense>
          <Palette onClose={() => setPaletteOpen(false)} />
        </Suspense>
      )}
    </div>
  )
}

function usePaletteShortcut(onToggle: () => void) {
  useEffect(() => {
    function handleKeyDown(event: KeyboardEvent) {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey) || event.shiftKey) return
      event.preventDefault()
      onToggle()
    }
    window.addEventListener('keydown', handleKeyDown)
    return () => window.removeEventListener('keydown', handleKeyDown)
  })
}
