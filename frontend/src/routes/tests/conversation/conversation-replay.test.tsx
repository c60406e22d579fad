import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { describe, expect, it, vi } from 'vitest'
import { ID, openConversation, timeline } from '@/test/open-conversation'
import { action, agentMessage, observation, statusChange, userMessage } from '@/test/sample-log'

const EVENTS = [
  userMessage('m', 'Count the ships'),
  statusChange('s', 'running'),
  action('a', 'ls ships'),
  observation('o', 'a', 'three of them'),
  agentMessage('r', 'There are three.'),
]

const slider = () => screen.findByRole('slider', { name: 'Position in the conversation' })

describe('the replay', () => {
  it('goes from event to event by its slider, its buttons and keys, and leads back', async () => {
    const { user, router } = openConversation({ events: EVENTS, url: '?replay=0' })
    expect(await screen.findByText('Step 1 of 4')).toBeVisible()
    expect(await within(await timeline()).findByText('Count the ships')).toBeVisible()
    expect(screen.queryByText('ls ships')).not.toBeInTheDocument()
    expect(screen.queryByRole('textbox', { name: 'Message to the agent' })).not.toBeInTheDocument()

    await user.click(screen.getByRole('button', { name: /^One step forward/ }))
    expect(await screen.findByText('ls ships')).toBeVisible()
    expect(screen.queryByText('three of them')).not.toBeInTheDocument()
    expect(screen.queryByText('No answer')).not.toBeInTheDocument()
    await user.keyboard('{End}')
    expect(await screen.findByText('There are three.')).toBeVisible()
    expect(await slider()).toHaveAttribute('aria-valuetext', 'Step 4 of 4')
    await user.keyboard('{ArrowLeft}')
    await waitFor(() => expect(screen.queryByText('There are three.')).not.toBeInTheDocument())

    await user.click(screen.getByRole('button', { name: 'Close the replay' }))
    expect(await screen.findByRole('textbox', { name: 'Message to the agent' })).toBeVisible()
    expect(router.state.location.search).toBe('')
  })

  it('plays to the end by itself, faster on request, and stops where it is paused', async () => {
    const { user } = openConversation({ events: EVENTS, url: '?replay=0' })
    await user.selectOptions(await screen.findByLabelText('Speed'), '16×')
    await user.click(screen.getByRole('button', { name: /^Play/ }))
    expect(await screen.findByText('There are three.')).toBeVisible()
    expect(await screen.findByRole('button', { name: /^Play/ })).toBeEnabled()
  })

  it('begins at the event that the address names', async () => {
    openConversation({ events: EVENTS, url: '?replay=3' })
    expect(await screen.findByText('Step 2 of 4')).toBeVisible()
  })
})

describe('a link to an event', () => {
  it('is copied from the menu of the event, and so is the raw event shown', async () => {
    const { user } = openConversation({ events: EVENTS })
    const write = vi.spyOn(navigator.clipboard, 'writeText')
    const row = (await within(await timeline()).findByText('There are three.')).closest('.group\\/row')
    const open = () => user.click(within(row as HTMLElement).getByLabelText('Actions for this event'))
    await open()
    await user.click(await screen.findByRole('menuitem', { name: 'Copy a link to this event' }))
    expect(write).toHaveBeenCalledWith(`${window.location.origin}/conversations/${ID}?event=r`)
    await open()
    await user.click(await screen.findByRole('menuitem', { name: 'Show the raw event' }))
    expect(await within(row as HTMLElement).findByText(/"kind": "MessageEvent"/)).toBeVisible()
  })

  it.each([
    ['of an action', 'a', 'ls ships'],
    ['of what an action brought', 'o', 'ls ships'],
    ['that is technical, which is shown then', 's', 'execution_status = running'],
  ])('marks the row %s', async (_, eventId, text) => {
    openConversation({ events: EVENTS, url: `?event=${eventId}` })
    const found = await within(await timeline()).findByText(text)
    expect(found.closest('[aria-current=location]')).not.toBeNull()
  })

  it('far before the newest shows the events around it, and leads to the end', async () => {
    const long = Array.from({ length: 40 }, (_, index) => userMessage(`m${index}`, `Ship number ${index}`))
    const { user } = openConversation({
      events: [...long, ...EVENTS],
      windowFrom: 41,
      url: '?event=m5',
      extra: [
        http.get('*/events/window', ({ request }) => {
          if (!new URL(request.url).searchParams.has('around_event_id')) return HttpResponse.error()
          const events = long.slice(0, 10).map((event, index) => ({ type: 'durable', seq: index + 1, event }))
          return HttpResponse.json({ first_seq: 1, last_seq: 10, events })
        }),
      ],
    })
    const found = await within(await timeline()).findByText('Ship number 5')
    expect(found.closest('[aria-current=location]')).not.toBeNull()
    expect(screen.queryByText('There are three.')).not.toBeInTheDocument()
    expect(await screen.findByText('Newer events cannot be loaded.')).toBeVisible()
    await user.click(screen.getByRole('button', { name: 'Jump to the end' }))
    expect(await screen.findByText('There are three.')).toBeVisible()
    expect(screen.queryByText('Ship number 5')).not.toBeInTheDocument()
  })

  it('says that the conversation does not contain it', async () => {
    openConversation({ events: EVENTS, url: '?event=elsewhere' })
    expect(await screen.findByText(/does not contain the linked event/)).toBeVisible()
  })
})

it('the menu on the page of a conversation archives it', async () => {
  const asked: unknown[] = []
  const { user } = openConversation({
    conversation: { last_seq: 5 },
    events: EVENTS,
    extra: [
      http.post('*/app-conversations/batch', async ({ request }) => {
        asked.push(await request.json())
        return HttpResponse.json({ results: [{ id: ID, conversation: null, problem: null }] })
      }),
    ],
  })
  await user.click(await screen.findByRole('button', { name: 'More actions' }))
  expect(await screen.findByRole('menuitem', { name: 'Replay' })).toBeVisible()
  await user.click(await screen.findByRole('menuitem', { name: 'Archive' }))
  await waitFor(() => expect(asked).toEqual([{ action: 'archive', ids: [ID] }]))
})
