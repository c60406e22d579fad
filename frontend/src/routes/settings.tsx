import { useQuery } from '@tanstack/react-query'
import clsx from 'clsx'
import type { ComponentType } from 'react'
import { useTranslation } from 'react-i18next'
import { Navigate, NavLink, useParams } from 'react-router'
import { currentUserQuery, mayWork } from '@/api/people/users'
import { AboutSection } from '@/features/about/about-section'
import { ApiKeysSection } from '@/features/api-keys/api-keys-section'
import { AppearanceSection } from '@/features/appearance/appearance-section'
import { AuditSection } from '@/features/audit/audit-section'
import { ConfirmationSection } from '@/features/confirmation-mode/confirmation-section'
import { ConsentsSection } from '@/features/consent/consents-section'
import { GitHostsSection } from '@/features/git-hosts/git-hosts-section'
import { JobsSection } from '@/features/jobs/jobs-section'
import { MarketplacesSection } from '@/features/marketplaces/marketplaces-section'
import { McpServersSection } from '@/features/mcp-servers/mcp-servers-section'
import { MemorySection } from '@/features/memory/memory-section'
import { ModelsSection } from '@/features/models/models-section'
import { NetworkSection } from '@/features/network/network-section'
import { PeopleSection } from '@/features/people/people-section'
import { SandboxImagesSection } from '@/features/sandbox-images/sandbox-images-section'
import { SandboxGroupingSection } from '@/features/sandbox-grouping/sandbox-grouping-section'
import { SecretsSection } from '@/features/secrets/secrets-section'
import { ConnectionsSection } from '@/features/sign-in/connections-section'
import { PasswordSection } from '@/features/sign-in/password-section'
import { TeamsSection } from '@/features/teams/teams-section'
import { WebSessionsSection } from '@/features/web-sessions/web-sessions-section'
import { TriggersSection } from '@/features/triggers/triggers-section'
import { WebhooksSection } from '@/features/webhooks/webhooks-section'
import { OWN_SECTIONS, SETTINGS_SECTIONS } from '@/lib/settings-sections'
import { useDocumentTitle } from '@/lib/hooks/use-document-title'
import { useScrolledToCurrent } from '@/lib/hooks/use-scrolled-to-current'
import { Notice } from '@/ui/feedback/notice'
import { NotFoundRoute } from './not-found'

type SectionPath = (typeof SETTINGS_SECTIONS)[number]['path']

const SECTIONS: Record<SectionPath, ComponentType> = {
  models: ModelsSection,
  confirmation: ConfirmationSection,
  consents: ConsentsSection,
  secrets: SecretsSection,
  'git-hosts': GitHostsSection,
  'mcp-servers': McpServersSection,
  marketplaces: MarketplacesSection,
  triggers: TriggersSection,
  webhooks: WebhooksSection,
  network: NetworkSection,
  'sandbox-images': SandboxImagesSection,
  sandboxes: SandboxGroupingSection,
  'api-keys': ApiKeysSection,
  browsers: SignInSections,
  people: PeopleSection,
  teams: TeamsSection,
  audit: AuditSection,
  jobs: JobsSection,
  memory: MemorySection,
  appearance: AppearanceSection,
  about: AboutSection,
}

function SignInSections() {
  return (
    <>
      <WebSessionsSection />
      <PasswordSection />
      <ConnectionsSection />
    </>
  )
}

export function SettingsRoute() {
  const { t } = useTranslation()
  const { section } = useParams()
  const navigation = useScrolledToCurrent(section)
  const user = useQuery(currentUserQuery()).data
  const current = SETTINGS_SECTIONS.find(({ path }) => path === section)
  useDocumentTitle(current ? `${t(current.label)} · ${t('settings.title')}` : t('settings.title'))

  if (!section) return <Navigate to={`/settings/${SETTINGS_SECTIONS[0].path}`} replace />
  if (!current) return <NotFoundRoute />
  const Section = SECTIONS[current.path]
  const isLocked = user !== undefined && !mayWork(user) && !OWN_SECTIONS.has(current.path)
  return (
    <div className="mx-auto max-w-5xl px-4 py-8 sm:px-8 lg:py-12">
      <h1 className="mb-6 text-2xl font-semibold tracking-tight lg:mb-8">{t('settings.title')}</h1>
      <div className="flex flex-col gap-6 md:flex-row md:gap-12">
        <nav
          ref={navigation}
          aria-label={t('settings.title')}
          className="-mx-4 overflow-x-auto px-4 md:mx-0 md:w-44 md:shrink-0 md:px-0"
        >
          <ul className="flex gap-1 md:flex-col">
            {SETTINGS_SECTIONS.map(({ path, label, icon: Icon }) => (
              <li key={path}>
                <NavLink
                  to={`/settings/${path}`}
                  className={({ isActive }) =>
                    clsx(
                      'flex h-9 items-center gap-2 rounded-md px-2.5 text-sm whitespace-nowrap',
                      isActive
                        ? 'bg-hover font-medium text-text'
                        : 'text-muted hover:bg-hover hover:text-text',
                    )
                  }
                >
                  <Icon aria-hidden className="size-4" />
                  {t(label)}
                </NavLink>
              </li>
            ))}
          </ul>
        </nav>
        <div className="min-w-0 flex-1">
          {isLocked && (
            <Notice tone="neutral" className="mb-6">
              {t('settings.read_only')}
            </Notice>
          )}
          <fieldset disabled={isLocked} className="contents">
            <Section />
          </fieldset>
        </div>
      </div>
    </div>
  )
}
