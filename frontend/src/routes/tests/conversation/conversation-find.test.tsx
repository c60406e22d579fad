import { screen, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, it } from 'vitest'
import { userMessage } from '@/test/sample-log'
import { ID, openConversation, timeline } from '@/test/open-conversation'

const LONG = Array.from({ length: 40 }, (_, index) => userMessage(`m${index}`, `Ship number ${index}`))
const found = (index: number) => ({
  event_id: `m${index}`,
  seq: index + 1,
  passage: [
    { text: 'Ship ', is_match: false },
    { text: `number ${index}`, is_match: true },
  ],
})

function openFind() {
  const asked: string[] = []
  const app = openConversation({
    conversation: { last_seq: 40 },
    events: LONG,
    windowFrom: 31,
    extra: [
      http.get(`*/conversation/${ID}/events/search`, ({ request }) => {
        const query = new URL(request.url).searchParams
        asked.push(query.get('query') ?? '')
        if (query.get('query') !== 'number') {
          return HttpResponse.json({ items: [], matches: [], next_page_id: null })
        }
        const isLater = query.get('page_id') === 'later'
        return HttpResponse.json({
          items: [],
          matches: (isLater ? [5] : [39, 38]).map(found),
          next_page_id: isLater ? null : 'later',
        })
      }),
      http.get(`*/conversation/${ID}/events/count`, ({ request }) =>
        HttpResponse.json(new URL(request.url).searchParams.get('query') === 'number' ? 3 : 0),
      ),
      http.get('*/events/window', ({ request }) => {
        if (!new URL(request.url).searchParams.has('around_event_id')) return HttpResponse.error()
        const events = LONG.slice(0, 10).map((event, index) => ({ type: 'durable', seq: index + 1, event }))
        return HttpResponse.json({ first_seq: 1, last_seq: 10, events })
      }),
    ],
  })
  return { ...app, asked }
}

const marked = async (text: string) =>
  (await within(await timeline()).findByText(text)).closest('[aria-current=location]')

it('finds words in the whole conversation, and shows each match', async () => {
  const { user, asked } = openFind()
  await user.click(await timeline())
  await user.keyboard('{Control>}f{/Control}')
  const bar = await screen.findByRole('search', { name: 'Find in conversation' })
  const field = within(bar).getByRole('textbox', { name: 'Find in conversation' })
  expect(field).toHaveFocus()
  await user.type(field, 'number')
  expect(await within(bar).findByText('1 of 3, newest first')).toBeVisible()
  expect(within(bar).getByRole('status')).toHaveTextContent('Ship number 39')
  expect(within(bar).getByText('number 39').tagName).toBe('MARK')
  expect(await marked('Ship number 39')).not.toBeNull()
  await user.keyboard('{Enter}')
  expect(await marked('Ship number 38')).not.toBeNull()
  expect(asked).toEqual(['number', 'number'])
  // The third match is far before the loaded events.
  await user.click(within(bar).getByRole('button', { name: 'Show the older match' }))
  expect(await marked('Ship number 5')).not.toBeNull()
  expect(within(bar).getByText('3 of 3, newest first')).toBeVisible()
  expect(within(bar).getByRole('button', { name: 'Show the older match' })).toBeDisabled()
  await user.click(within(bar).getByRole('button', { name: 'Show the newer match' }))
  expect(await marked('Ship number 38')).not.toBeNull()
  await user.clear(field)
  await user.type(field, 'boat')
  expect(await within(bar).findByText('No matches')).toBeVisible()
  await user.keyboard('{Escape}')
  expect(screen.queryByRole('search')).not.toBeInTheDocument()
  expect(await timeline()).toHaveFocus()
})

it('opens from the menu of the conversation', async () => {
  const { user } = openFind()
  await timeline()
  await user.click(await screen.findByRole('button', { name: 'More actions' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Find in conversation' }))
  expect(await screen.findByRole('textbox', { name: 'Find in conversation' })).toHaveFocus()
})
