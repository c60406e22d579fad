import { http, HttpResponse } from 'msw'
import type { Problem } from '@/api/errors'
import type { IdentityProvider } from '@/api/people/identities'
import type { AppConversation, LLMProfile, User, WebClientConfig } from '@/api/types'
import { tagText } from '@/lib/text/tags'
import { fakeConfig, fakeRuntimePlugin, fakeSandboxSpec, fakeUser } from './factories'
import { fakeProfile, fakeSpendingLimit, fakeUserLimit } from './model-factories'
import { fakeModelFacts } from './model-facts'
import { fakePasswordSettings } from './password-settings'
import { userStreamServer } from './user-stream-server'

export interface MockServerData {
  identityProviders?: IdentityProvider[]
  /** The signed-in user. Null means that no user is signed in. */
  user?: User | null
  config?: WebClientConfig
  profiles?: LLMProfile[]
  activeProfile?: string | null
  conversations?: AppConversation[]
  /** The user's stream. The default stream sends the conversations once and nothing after that. */
  userStream?: ReturnType<typeof userStreamServer>
}

/** Makes an RFC 9457 reply as the app server sends it. */
export function problem(status: number, fields: Problem & { code: string; detail: string }) {
  return HttpResponse.json(
    { type: 'about:blank', title: 'Error', status, request_id: 'req-1', ...fields },
    { status, headers: { 'Content-Type': 'application/problem+json' } },
  )
}

/** The handlers of the requests that every page sends. `world` is the data of the server. */
export function handlers(world: MockServerData = {}) {
  const user = world.user === undefined ? fakeUser() : world.user
  const profiles = world.profiles ?? [fakeProfile()]
  const conversations = world.conversations ?? []
  return [
    (world.userStream ?? userStreamServer(() => conversations)).handler,
    http.get('*/api/v1/users/me', () =>
      user ? HttpResponse.json(user) : problem(401, { code: 'not_authenticated', detail: 'Sign in first.' }),
    ),
    http.get('*/api/v1/administration/sign-in-providers', () => HttpResponse.json([])),
    http.get('*/api/v1/sign-in/providers', () => HttpResponse.json(world.identityProviders ?? [])),
    http.get('*/api/v1/password', () => HttpResponse.json(fakePasswordSettings())),
    http.get('*/api/v1/identities', () => HttpResponse.json([])),
    http.get('*/api/v1/web-client/config', () => HttpResponse.json(world.config ?? fakeConfig())),
    http.get('*/api/v1/settings/profiles', () =>
      HttpResponse.json({
        profiles,
        active_profile: world.activeProfile ?? profiles[0]?.name ?? null,
        callable_profiles: profiles.map(({ name }) => name),
      }),
    ),
    http.get('*/api/v1/settings/model-facts', () => HttpResponse.json(fakeModelFacts())),
    http.get('*/api/v1/settings/spending-limit', () => HttpResponse.json(fakeSpendingLimit())),
    http.get('*/api/v1/administration/spending-limits', () =>
      HttpResponse.json({ default: { limit: null, period: 'month' }, budgets: [], users: [fakeUserLimit()] }),
    ),
    http.get('*/api/v1/settings/confirmation', () =>
      HttpResponse.json({ mode: null, default_mode: 'never' }),
    ),
    http.get('*/api/v1/settings/levels', () => HttpResponse.json([])),
    http.get('*/api/v1/settings/levels/items', () => HttpResponse.json([])),
    http.get('*/api/v1/administration/items', () => HttpResponse.json([])),
    http.get('*/api/v1/teams', () => HttpResponse.json([])),
    http.get('*/api/v1/organisations', () => HttpResponse.json([])),
    http.get('*/api/v1/repository-owner', () => HttpResponse.json(null)),
    http.get('*/api/v1/sandbox-specs/search', () =>
      HttpResponse.json({ items: [fakeSandboxSpec()], next_page_id: null }),
    ),
    http.get('*/api/v1/settings/sandbox-spec', () =>
      HttpResponse.json({
        sandbox_spec_id: 'default',
        repositories: [],
        may_choose: true,
        reason: null,
        enforced_by: null,
        team_name: null,
      }),
    ),
    http.get('*/api/v1/settings/sandbox-grouping', () =>
      HttpResponse.json({ sandbox_grouping_strategy: 'NO_GROUPING', max_conversations_per_sandbox: 20 }),
    ),
    http.get('*/api/v1/app-conversations/:id/confirmation-mode', () => HttpResponse.json({ mode: 'risky' })),
    http.get('*/api/v1/app-conversations/:id/consent', () =>
      HttpResponse.json({ directory: 'engine', repository: 'github.com/ada/engine', items: [] }),
    ),
    http.get('*/api/v1/app-conversations/:id/network', () =>
      HttpResponse.json({ mode: 'allowlist', repository: null, allowed: [], refused: [] }),
    ),
    http.get('*/api/v1/sandboxes/:id/runtime-plugins', () =>
      HttpResponse.json({
        items: [fakeRuntimePlugin(), fakeRuntimePlugin({ name: 'desktop', title: 'Desktop', port: 8002 })],
      }),
    ),
    http.get('*/api/v1/conversations/:id/pending-messages', () => HttpResponse.json([])),
    http.get('*/api/v1/api-keys', () => HttpResponse.json([])),
    http.get('*/api/v1/settings/git-credentials', () => HttpResponse.json([])),
    http.get('*/api/v1/settings/git-sign-ins', () => HttpResponse.json([])),
    http.get('*/api/v1/administration/git-apps', () =>
      HttpResponse.json({ callback_url: 'http://localhost:3000/settings/git-hosts/callback', apps: [] }),
    ),
    http.get('*/api/v1/app-conversations/:id/pull-requests', () => HttpResponse.json([])),
    http.get('*/api/v1/memory-proposals', () => HttpResponse.json([])),
    http.get('*/api/v1/settings/commit-signing', () => HttpResponse.json({ is_on: false })),
    http.get('*/api/v1/settings', () =>
      HttpResponse.json({
        git_user_name: null,
        git_user_email: null,
        commit_trailer: 'none',
        commit_trailers: {},
        registered_marketplaces: [],
        inherited_marketplaces: [],
      }),
    ),
    http.get('*/api/v1/app-conversations/tags', () =>
      HttpResponse.json(
        conversations.flatMap(({ tags }) =>
          Object.entries(tags).map(([key, value]) => ({ key, value, count: 1 })),
        ),
      ),
    ),
    http.get('*/api/v1/app-conversations/filter-choices', () => {
      const values = (found: (string | null)[]) => [...new Set(found.filter((each) => each !== null))].sort()
      const others = conversations.filter(({ access }) => access !== 'own')
      const owners = new Map(
        others.map(({ created_by_user_id, owner_name }) => [created_by_user_id, owner_name]),
      )
      return HttpResponse.json({
        llm_models: values(conversations.map(({ llm_model }) => llm_model)),
        selected_branches: values(conversations.map(({ selected_branch }) => selected_branch)),
        owners: [...owners].map(([id, name]) => ({ id, name })),
      })
    }),
    http.get('*/api/v1/app-conversations/search', ({ request }) => {
      const { searchParams } = new URL(request.url)
      const title = searchParams.get('query')?.toLowerCase() ?? ''
      const status = searchParams.get('execution_status__eq')
      const repository = searchParams.get('selected_repository__contains') ?? ''
      const sandbox = searchParams.get('sandbox_id__eq')
      const tag = searchParams.get('tag')
      const model = searchParams.get('llm_model__eq')
      const branch = searchParams.get('selected_branch__eq')
      const owner = searchParams.get('created_by_user_id__eq')
      const from = searchParams.get('created_at__gte')
      const before = searchParams.get('created_at__lt')
      const items = conversations.filter(
        (item) =>
          (item.title ?? '').toLowerCase().includes(title) &&
          (!sandbox || item.sandbox_id === sandbox) &&
          (!tag || Object.entries(item.tags).some(([key, value]) => tagText(key, value) === tag)) &&
          (!status || item.execution_status === status) &&
          (!model || item.llm_model === model) &&
          (!branch || item.selected_branch === branch) &&
          (!owner || item.created_by_user_id === owner) &&
          (!from || new Date(item.created_at) >= new Date(from)) &&
          (!before || new Date(item.created_at) < new Date(before)) &&
          (item.selected_repository ?? '').includes(repository),
      )
      return HttpResponse.json({ items, next_page_id: null })
    }),
    http.get('*/api/v1/app-conversations', ({ request }) => {
      const ids = new URL(request.url).searchParams.getAll('ids')
      return HttpResponse.json(ids.map((id) => conversations.find((item) => item.id === id) ?? null))
    }),
  ]
}
