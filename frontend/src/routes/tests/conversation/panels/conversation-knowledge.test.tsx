import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { describe, expect, it } from 'vitest'
import type { KnownSkills } from '@/api/types'
import { fakeFinding, fakeSkill } from '@/test/agent-factories'
import { problem } from '@/test/handlers'
import { composer, openConversation } from '@/test/open-conversation'
import { action, observation } from '@/test/sample-log'
import { server } from '@/test/server'

function knows(known: Partial<KnownSkills>) {
  const body = { skills: [], sources: {}, report: [], ...known }
  server.use(http.get('*/app-conversations/:id/skills', () => HttpResponse.json(body)))
}

describe('what the agent knows', () => {
  it('shows every file by origin, and why it was loaded or not', async () => {
    const { user } = openConversation()
    knows({
      report: [
        fakeFinding({ name: 'web/AGENTS.md', reason: 'added to the first result that touches web/**' }),
        fakeFinding({
          origin: 'public',
          path: 'public/x.md',
          name: null,
          is_loaded: false,
          reason: 'it is empty',
        }),
      ],
    })
    await user.click(await screen.findByRole('button', { name: 'What the agent knows' }))
    const project = await screen.findByRole('region', { name: 'From the repository' })
    expect(within(project).getByText('web/AGENTS.md')).toBeVisible()
    expect(within(project).getByText('Loaded')).toBeVisible()
    const everybody = screen.getByRole('region', { name: 'Public' })
    expect(within(everybody).getByText('Left out')).toBeVisible()
    expect(within(everybody).getByText('it is empty')).toBeVisible()
    expect(screen.getByText(/^Nothing found under: From the request, Your own, /)).toBeVisible()
  })

  it('is closed by one Escape', async () => {
    const { user } = openConversation()
    knows({})
    await user.click(await screen.findByRole('button', { name: 'What the agent knows' }))
    expect(await screen.findByRole('dialog', { name: 'Skills and instructions' })).toBeVisible()
    await user.keyboard('{Escape}')
    await waitFor(() => expect(screen.queryByRole('dialog')).not.toBeInTheDocument())
  })

  it('is at peace with a sandbox that sleeps', async () => {
    const { user } = openConversation()
    server.use(
      http.get('*/app-conversations/:id/skills', () =>
        problem(409, { code: 'sandbox_not_running', detail: 'Send a message to wake it.' }),
      ),
    )
    await user.click(await screen.findByRole('button', { name: 'What the agent knows' }))
    expect(await screen.findByText('Send a message to wake it.')).toBeVisible()
  })
})

it('shows which rules a result gave the agent', async () => {
  const rule = { type: 'text' as const, text: '<path_rule name="web/AGENTS.md">\nUse spaces.\n</path_rule>' }
  openConversation({
    events: [action('a', 'cat web/x'), { ...observation('o', 'a', 'x'), extended_content: [rule] }],
  })
  expect(await screen.findByText('web/AGENTS.md')).toBeVisible()
  expect(screen.getByText('Given for the paths that were touched:')).toBeInTheDocument()
})

describe('skills that are called by name', () => {
  const input = { name: 'version', description: '', required: true, default: null }
  const skills = [
    fakeSkill({ name: 'release', triggers: ['/release'], description: 'How to release', inputs: [input] }),
    fakeSkill({ name: 'review', triggers: ['/review'] }),
    fakeSkill({ name: 'zebra', triggers: ['zebra'] }),
  ]

  it('are completed with the keys, and sent with what follows', async () => {
    const { user, sent } = openConversation()
    knows({ skills })
    await user.type(await composer(), '/')
    const options = await screen.findAllByRole('option')
    expect(options.map((option) => option.textContent)).toEqual([
      '/release <version>How to release',
      '/review ',
    ])
    await user.keyboard('{ArrowDown}{ArrowUp}{Enter}')
    expect(await composer()).toHaveValue('/release ')
    expect(screen.queryByRole('listbox')).not.toBeInTheDocument()
    await user.keyboard('1.4{Enter}')
    await waitFor(() =>
      expect(sent['send-message']).toMatchObject([{ content: [{ type: 'text', text: '/release 1.4' }] }]),
    )
  })

  it('can be dismissed, and picked with the pointer', async () => {
    const { user } = openConversation()
    knows({ skills })
    await user.type(await composer(), '/re')
    await user.click(await screen.findByRole('option', { name: /review/ }))
    expect(await composer()).toHaveValue('/review ')
    await user.clear(await composer())
    await user.type(await composer(), '/r')
    await screen.findByRole('listbox')
    await user.keyboard('{Escape}')
    expect(screen.queryByRole('listbox')).not.toBeInTheDocument()
  })

  it('leave a name that is written out to Enter', async () => {
    const { user, sent } = openConversation()
    knows({ skills })
    await user.type(await composer(), '/review')
    await screen.findByRole('listbox')
    await user.keyboard('{Enter}')
    await waitFor(() =>
      expect(sent['send-message']).toMatchObject([{ content: [{ type: 'text', text: '/review' }] }]),
    )
  })
})
