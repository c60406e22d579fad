/** Computes the state of the agent's browser from the log. Pure. */
import { observationIs, type ConversationEvent, eventIs } from '@/events/wire/types'

export interface AgentBrowser {
  /** Position of the last answered call of a browser tool. */
  seq: number
  url: string
  title: string
  /** The last screenshot that the agent requested, and the page in the screenshot. */
  image: { url: string; pageUrl: string } | null
}

const PAGE = /^URL: (.*)\nTitle: (.*)$/m

/**
 * Returns the browser's state after this event. Returns the same object for events that are not about the
 * browser.
 */
export function agentBrowserAfter(
  before: AgentBrowser | null,
  seq: number,
  event: ConversationEvent,
): AgentBrowser | null {
  if (!eventIs(event, 'ObservationEvent') || !observationIs(event.observation, 'BrowserObservation'))
    return before
  const { content } = event.observation
  const page = pageOf(content.map((part) => (part.type === 'text' ? part.text : '')).join('\n'))
  const picture = content.find((part) => part.type === 'image')?.image_urls[0]
  const url = page?.url ?? before?.url ?? ''
  return {
    seq,
    url,
    title: page?.title ?? before?.title ?? '',
    image: picture === undefined ? (before?.image ?? null) : { url: picture, pageUrl: url },
  }
}

/** Returns the page that the first lines of a browser tool's answer name. */
export function pageOf(text: string): { url: string; title: string } | null {
  const [, url, title] = PAGE.exec(text) ?? []
  return url === undefined || title === undefined || !text.startsWith('URL: ') ? null : { url, title }
}
