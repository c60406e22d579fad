/** Opens the page of one conversation with a simulated server, for tests of the whole page. */
import { screen } from '@testing-library/react'
import { http, HttpResponse, type RequestHandler } from 'msw'
import { onTestFinished } from 'vitest'
import type { GitPush } from '@/api/git/git-changes'
import type { AppConversation, LLMProfile, StartTask } from '@/api/types'
import type { ConversationEvent } from '@/events/wire/types'
import { fakeConversation, fakeStartTask } from './factories'
import { fakeDemoProfile } from './model-factories'
import { renderApp } from './render-app'
import { streamServer } from './stream-server'

export const ID = 'c'.repeat(32)
export interface OpenConversationOptions {
  conversation?: Partial<AppConversation>
  /** Other conversations that exist. */
  others?: AppConversation[]
  task?: Partial<StartTask>
  profiles?: LLMProfile[]
  events?: ConversationEvent[]
  /** The position of the first event that the stream brings. */
  windowFrom?: number
  patch?: () => Response
  pushes?: GitPush[]
  /** Routes that replace the routes of the simulated server. */
  extra?: RequestHandler[]
  browser?: () => Response
  /** The part of the address after the path of the page. */
  url?: string
}

/**
 * Opens the page of one conversation. `sent` collects the bodies of the page's requests, by the last part of
 * their path.
 */
export function openConversation({
  conversation,
  others = [],
  task,
  profiles = [fakeDemoProfile()],
  events = [],
  windowFrom,
  patch = () => new HttpResponse(''),
  pushes = [],
  extra = [],
  url = '',
  browser = () => HttpResponse.json({ is_open: false, pages: [], image_url: null }),
}: OpenConversationOptions = {}) {
  giveLayout()
  const known = fakeConversation({ id: ID, ...conversation })
  const stream = streamServer({
    conversation: known,
    task: fakeStartTask({ id: ID, status: 'READY', ...task }),
    events,
    windowFrom,
  })
  const sent: Record<string, unknown[]> = {}
  const note = async (request: Request) => {
    const name = new URL(request.url).pathname.split('/').at(-1) ?? ''
    const text = await request.text()
    ;(sent[name] ??= []).push(text === '' ? null : JSON.parse(text))
  }
  const app = renderApp({
    url: `/conversations/${ID}${url}`,
    conversations: [known, ...others],
    profiles,
    extra: [
      ...extra,
      stream.handler as never,
      http.patch('*/app-conversations/:id', async ({ request }) => {
        const body = (await request.json()) as Partial<AppConversation>
        return HttpResponse.json({ ...known, ...body })
      }),
      http.get('*/git/patch', () => patch()),
      http.get('*/git/pushes', () => HttpResponse.json(pushes)),
      http.get('*/app-conversations/:id/browser', () => browser()),
      http.post('*/app-conversations/:id/goal/:command', async ({ request }) => {
        await note(request)
        return HttpResponse.json({ success: true })
      }),
      http.post('*/app-conversations/:id/:command', async ({ request, params }) => {
        await note(request)
        return HttpResponse.json(
          params.command === 'send-message'
            ? { success: true, sandbox_status: 'RUNNING', message: null }
            : { success: true },
        )
      }),
    ],
  })
  return { ...app, stream, sent }
}

export const timeline = () => screen.findByRole('log', { name: 'Conversation' })
export const composer = () => screen.findByRole('textbox', { name: 'Message to the agent' })

// jsdom has no layout. Without a size, the virtual list would render no rows.
const LAYOUT = { clientWidth: 800, clientHeight: 4000, offsetHeight: 100 }

function giveLayout() {
  for (const [name, value] of Object.entries(LAYOUT)) {
    Object.defineProperty(HTMLElement.prototype, name, { configurable: true, get: () => value })
  }
  onTestFinished(() => {
    Object.keys(LAYOUT).forEach((name) => Reflect.deleteProperty(HTMLElement.prototype, name))
  })
}
