import { http, HttpResponse } from 'msw'
import type { AppConversation, LLMProfile, User, WebClientConfig } from '@/api/types'
import { fakeConfig, fakeProfile, fakeUser } from './factories'

export interface World {
  /** null = nobody is signed in. */
  user?: User | null
  config?: WebClientConfig
  profiles?: LLMProfile[]
  activeProfile?: string | null
  conversations?: AppConversation[]
}

/** An RFC 9457 reply as the app server writes it. */
export function problem(status: number, fields: { code: string; detail: string; fix?: string }) {
  return HttpResponse.json(
    { type: 'about:blank', title: 'Error', status, request_id: 'req-1', ...fields },
    { status, headers: { 'Content-Type': 'application/problem+json' } },
  )
}

/** What every page asks for, answered from a small world. */
export function handlers(world: World = {}) {
  const user = world.user === undefined ? fakeUser() : world.user
  const profiles = world.profiles ?? [fakeProfile()]
  const conversations = world.conversations ?? []
  return [
    http.get('*/api/v1/users/me', () =>
      user ? HttpResponse.json(user) : problem(401, { code: 'not_authenticated', detail: 'Sign in first.' }),
    ),
    http.get('*/api/v1/web-client/config', () => HttpResponse.json(world.config ?? fakeConfig())),
    http.get('*/api/v1/settings/profiles', () =>
      HttpResponse.json({ profiles, active_profile: world.activeProfile ?? profiles[0]?.name ?? null }),
    ),
    http.get('*/api/v1/settings/confirmation', () =>
      HttpResponse.json({ mode: null, default_mode: 'never' }),
    ),
    http.get('*/api/v1/app-conversations/:id/confirmation-mode', () => HttpResponse.json({ mode: 'risky' })),
    http.get('*/api/v1/app-conversations/:id/consent', () =>
      HttpResponse.json({ repository: 'github.com/ada/engine', items: [] }),
    ),
    http.get('*/api/v1/api-keys', () => HttpResponse.json([])),
    http.get('*/api/v1/app-conversations/search', ({ request }) => {
      const title = new URL(request.url).searchParams.get('title__contains')?.toLowerCase() ?? ''
      const items = conversations.filter((item) => item.title?.toLowerCase().includes(title))
      return HttpResponse.json({ items, next_page_id: null })
    }),
    http.get('*/api/v1/app-conversations', ({ request }) => {
      const ids = new URL(request.url).searchParams.getAll('ids')
      return HttpResponse.json(ids.map((id) => conversations.find((item) => item.id === id) ?? null))
    }),
  ]
}
