/** Describes the calls of the browser's tools in words for their rows. Pure. */
import { pageOf } from '@/events/fold/agent-browser'
import { actionIs, type Action } from '@/events/wire/types'

export interface BrowserCall {
  /** The end of the translation key of the verb. */
  verb: string
  /** The object of the call, if the call alone names it. */
  subject: string
  isAddress?: boolean
}

const PLAIN: Readonly<Record<string, string>> = {
  BrowserGetStateAction: 'look',
  BrowserGetContentAction: 'read',
  BrowserGoBackAction: 'back',
  BrowserListTabsAction: 'list_tabs',
  BrowserGetStorageAction: 'get_storage',
  BrowserSetStorageAction: 'set_storage',
  BrowserStartRecordingAction: 'start_recording',
  BrowserStopRecordingAction: 'stop_recording',
}

/** Returns `action` as a call of a browser tool. Returns null for all other actions. */
export function browserCall(action: Action | null | undefined): BrowserCall | null {
  if (actionIs(action, 'BrowserNavigateAction'))
    return { verb: 'navigate', subject: action.url, isAddress: true }
  if (actionIs(action, 'BrowserClickAction')) return { verb: 'click', subject: `[${action.index}]` }
  if (actionIs(action, 'BrowserTypeAction'))
    return { verb: 'type', subject: `${quoted(action.text)} → [${action.index}]` }
  if (actionIs(action, 'BrowserScrollAction'))
    return { verb: action.direction === 'up' ? 'scroll_up' : 'scroll_down', subject: '' }
  if (actionIs(action, 'BrowserSwitchTabAction')) return { verb: 'switch_tab', subject: action.tab_id }
  if (actionIs(action, 'BrowserCloseTabAction')) return { verb: 'close_tab', subject: action.tab_id }
  const verb = action ? PLAIN[action.kind] : undefined
  return verb === undefined ? null : { verb, subject: '' }
}

/** Returns the call with data from the answer. The answer names the element and the page. */
export function answeredCall(call: BrowserCall, answer: string): BrowserCall {
  const [, element] = /^(?:Clicked|Filled in) (.*?)\.(?: |$)/m.exec(answer) ?? []
  if (element !== undefined) return { ...call, subject: call.subject.replace(/\[\d+\]$/, element) }
  const page = call.subject === '' ? pageOf(answer) : null
  return page === null ? call : { ...call, subject: page.title || page.url }
}

function quoted(text: string): string {
  return `“${text.replaceAll(/\s+/g, ' ').trim()}”`
}
