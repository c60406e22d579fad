import { useQuery } from '@tanstack/react-query'
import clsx from 'clsx'
import type { ComponentType } from 'react'
import { useTranslation } from 'react-i18next'
import { Navigate, NavLink, useNavigate, useParams } from 'react-router'
import { currentUserQuery, mayWork } from '@/api/people/users'
import { effectiveSettingsQuery, type SettingName } from '@/api/people/levels'
import { AboutSection } from '@/features/about/about-section'
import { ApiKeysSection } from '@/features/api-keys/api-keys-section'
import { AppearanceSection } from '@/features/appearance/appearance-section'
import { AuditSection } from '@/features/audit/audit-section'
import { ConfirmationSection } from '@/features/confirmation-mode/confirmation-section'
import { ConsentsSection } from '@/features/consent/consents-section'
import { GitHostsSection } from '@/features/git-hosts/git-hosts-section'
import { JobsSection } from '@/features/jobs/jobs-section'
import { MarketplacesSection } from '@/features/marketplaces/marketplaces-section'
import { LevelServerForm } from '@/features/mcp-servers/level-server-form'
import { McpServersSection } from '@/features/mcp-servers/mcp-servers-section'
import { MemorySection } from '@/features/memory/memory-section'
import { ModelsSection } from '@/features/models/models-section'
import { LevelRuleForm } from '@/features/network/level-rule-form'
import { NetworkSection } from '@/features/network/network-section'
import { LevelItemsSection } from '@/features/organisation/level-items-section'
import { LevelNotice } from '@/features/organisation/level-notice'
import { OrganisationSection } from '@/features/organisation/organisation-section'
import { OrganisationsSection } from '@/features/people/organisations-section'
import { PeopleSection } from '@/features/people/people-section'
import { RetentionSection } from '@/features/retention/retention-section'
import { LevelImageForm } from '@/features/sandbox-images/level-image-form'
import { SandboxImagesSection } from '@/features/sandbox-images/sandbox-images-section'
import { SandboxGroupingSection } from '@/features/sandbox-grouping/sandbox-grouping-section'
import { LevelSecretForm } from '@/features/secrets/level-secret-form'
import { SecretsSection } from '@/features/secrets/secrets-section'
import { SkillsSection } from '@/features/skills/skills-section'
import { ConnectionsSection } from '@/features/sign-in/connections-section'
import { ProviderOverview } from '@/features/sign-in/provider-overview'
import { PasswordSection } from '@/features/sign-in/password-section'
import { TeamsSection } from '@/features/teams/teams-section'
import { WebSessionsSection } from '@/features/web-sessions/web-sessions-section'
import { TriggersSection } from '@/features/triggers/triggers-section'
import { WebhooksSection } from '@/features/webhooks/webhooks-section'
import { OWN_SECTIONS, SETTINGS_GROUPS, SETTINGS_SECTIONS } from '@/lib/settings-sections'
import { useDocumentTitle } from '@/lib/hooks/use-document-title'
import { Notice } from '@/ui/feedback/notice'
import { Select } from '@/ui/form/select'
import { NotFoundRoute } from './not-found'

type SectionPath = (typeof SETTINGS_SECTIONS)[number]['path']

const SECTIONS: Record<SectionPath, ComponentType> = {
  models: ModelsSection,
  confirmation: ConfirmationSection,
  consents: ConsentsSection,
  secrets: SecretSections,
  'git-hosts': GitHostsSection,
  'mcp-servers': McpServerSections,
  skills: SkillsSection,
  marketplaces: MarketplacesSection,
  triggers: TriggersSection,
  webhooks: WebhooksSection,
  network: NetworkSections,
  'sandbox-images': SandboxImagesSections,
  sandboxes: SandboxGroupingSection,
  'api-keys': ApiKeysSection,
  browsers: SignInSections,
  people: PeopleSections,
  teams: TeamsSection,
  organisation: OrganisationSection,
  audit: AuditSection,
  jobs: JobsSection,
  retention: RetentionSection,
  memory: MemorySection,
  appearance: AppearanceSection,
  about: AboutSection,
}

/** The settings that the organisation or a team can also set, by the settings page that shows them. */
const LEVELLED: Partial<Record<SectionPath, SettingName[]>> = {
  models: ['llm_profile', 'max_budget_per_task'],
  confirmation: ['confirmation_mode'],
  sandboxes: ['sandbox_grouping_strategy'],
  'git-hosts': ['clone', 'submodules', 'commit_trailer'],
}

/**
 * The settings pages that have only one such setting. The page is locked while an administrator enforces the
 * setting.
 */
const LOCKABLE: ReadonlySet<string> = new Set(['confirmation', 'sandboxes'])

function SecretSections() {
  return (
    <>
      <SecretsSection />
      <LevelItemsSection kind="secret" form={(props) => <LevelSecretForm {...props} />} />
    </>
  )
}

function McpServerSections() {
  return (
    <>
      <McpServersSection />
      <LevelItemsSection kind="mcp_server" form={(props) => <LevelServerForm {...props} />} />
    </>
  )
}

function NetworkSections() {
  return (
    <>
      <NetworkSection />
      <LevelItemsSection kind="egress_rule" form={(props) => <LevelRuleForm {...props} />} />
    </>
  )
}

function SandboxImagesSections() {
  return (
    <>
      <SandboxImagesSection />
      <LevelItemsSection kind="sandbox_spec" form={(props) => <LevelImageForm {...props} />} />
    </>
  )
}

function PeopleSections() {
  return (
    <>
      <PeopleSection />
      <OrganisationsSection />
      <ProviderOverview />
    </>
  )
}

function OwnOrganisation() {
  const { t } = useTranslation()
  const organisation = useQuery(currentUserQuery()).data?.organisation
  if (organisation === undefined) return null
  return <p className="mb-6 text-sm text-muted">{t('organisations.yours', { name: organisation })}</p>
}

function SignInSections() {
  return (
    <>
      <OwnOrganisation />
      <WebSessionsSection />
      <PasswordSection />
      <ConnectionsSection />
    </>
  )
}

export function SettingsRoute() {
  const { t } = useTranslation()
  const { section } = useParams()
  const user = useQuery(currentUserQuery()).data
  const levels = useQuery(effectiveSettingsQuery()).data
  const current = SETTINGS_SECTIONS.find(({ path }) => path === section)
  useDocumentTitle(current ? `${t(current.label)} · ${t('settings.title')}` : t('settings.title'))

  if (!section) return <Navigate to={`/settings/${SETTINGS_GROUPS[0].sections[0].path}`} replace />
  if (!current) return <NotFoundRoute />
  const Section = SECTIONS[current.path]
  const isLocked = user !== undefined && !mayWork(user) && !OWN_SECTIONS.has(current.path)
  const names = LEVELLED[current.path] ?? []
  const settings = levels?.filter(({ name }) => names.includes(name)) ?? []
  const isEnforced = LOCKABLE.has(current.path) && settings.some(({ enforced }) => enforced)
  return (
    <div className="mx-auto max-w-5xl px-4 py-8 sm:px-8 lg:py-12">
      <h1 className="mb-6 text-2xl font-semibold tracking-tight lg:mb-8">{t('settings.title')}</h1>
      <div className="flex flex-col gap-6 md:flex-row md:gap-12">
        <SectionSelect current={current.path} />
        <SectionLinks />
        <div className="min-w-0 flex-1">
          {isLocked && (
            <Notice tone="neutral" className="mb-6">
              {t('settings.read_only')}
            </Notice>
          )}
          {settings.map((setting) => (
            <LevelNotice key={setting.name} setting={setting} />
          ))}
          <fieldset disabled={isLocked || isEnforced} className="contents">
            <Section />
          </fieldset>
        </div>
      </div>
    </div>
  )
}

function SectionLinks() {
  const { t } = useTranslation()
  return (
    <nav aria-label={t('settings.title')} className="hidden w-44 shrink-0 md:block">
      {SETTINGS_GROUPS.map((group) => (
        <section key={group.label} className="mb-5">
          <h2 className="mb-1 px-2.5 text-xs font-medium text-muted">{t(group.label)}</h2>
          <ul>
            {group.sections.map(({ path, label, icon: Icon }) => (
              <li key={path}>
                <NavLink
                  to={`/settings/${path}`}
                  className={({ isActive }) =>
                    clsx(
                      'flex h-8 items-center gap-2 rounded-md px-2.5 text-sm whitespace-nowrap',
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
        </section>
      ))}
    </nav>
  )
}

/** The navigation of the settings on narrow screens. */
function SectionSelect({ current }: { current: SectionPath }) {
  const { t } = useTranslation()
  const navigate = useNavigate()
  return (
    <Select
      aria-label={t('settings.page')}
      className="md:hidden"
      value={current}
      onChange={(event) => void navigate(`/settings/${event.target.value}`)}
    >
      {SETTINGS_GROUPS.map((group) => (
        <optgroup key={group.label} label={t(group.label)}>
          {group.sections.map(({ path, label }) => (
            <option key={path} value={path}>
              {t(label)}
            </option>
          ))}
        </optgroup>
      ))}
    </Select>
  )
}
