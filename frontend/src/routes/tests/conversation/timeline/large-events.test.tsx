import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { http, HttpResponse } from 'msw'
import { expect, it } from 'vitest'
import { ID, openConversation, timeline } from '@/test/open-conversation'
import { toolCall, toolResult } from '@/test/sample-log'

const PATIENT = { timeout: 10_000 }
const ADDRESS = `/api/v1/conversation/${ID}/events/blobs/${'a'.repeat(64)}`
const result = (text: string) => [
  { type: 'text', text },
  { type: 'image', image_urls: [ADDRESS] },
]

it('loads pictures that are kept beside the log, and shows long outputs whole on request', async () => {
  const asked: string[] = []
  const shortened = toolResult('a1', 'FileEditorObservation', '', { content: result('begin … end') })
  const whole = toolResult('a1', 'FileEditorObservation', '', { content: result('begin, middle, end') })
  let isAway = true
  const { stream } = openConversation({
    events: [toolCall('a1', { kind: 'FileEditorAction', command: 'view', path: '/w/plot.png' })],
    extra: [
      http.get(`*${ADDRESS}`, () =>
        HttpResponse.arrayBuffer(new Uint8Array([1, 2, 3]).buffer, {
          headers: { 'Content-Type': 'image/png' },
        }),
      ),
      http.get(`*/api/v1/conversation/${ID}/events`, ({ request }) => {
        asked.push(new URL(request.url).search)
        return isAway ? HttpResponse.json({ code: 'away' }, { status: 503 }) : HttpResponse.json([whole])
      }),
    ],
  })
  const log = await timeline()
  await expect.poll(() => stream.positions.length, { timeout: 10_000 }).toBe(1)
  stream.send({ type: 'durable', seq: 2, event: shortened, blobs: [{ media_type: 'text/plain' }] })

  const show = await screen.findByText('Show all', {}, PATIENT)
  await userEvent.click(show)
  expect(await screen.findByText('The whole output cannot be loaded.', {}, PATIENT)).toBeVisible()
  isAway = false
  await userEvent.click(screen.getByText('Show all'))
  expect(await screen.findByText('begin, middle, end', {}, PATIENT)).toBeVisible()
  expect(screen.queryByText('Show all')).toBeNull()
  expect(asked.at(-1)).toBe('?id=a1-result&full=true')
  const source = () => within(log).queryByAltText('Attached picture')?.getAttribute('src')
  await expect.poll(source, { timeout: 10_000 }).toBe('data:image/png;base64,AQID')
})
