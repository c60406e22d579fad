import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, it } from 'vitest'
import type { ExecutableWithState } from '@/api/approval/executables'
import type { StartTask } from '@/api/types'
import { fakeExecutable } from '@/test/agent-factories'
import { problem } from '@/test/handlers'
import { openConversation } from '@/test/open-conversation'

const RUNNING = { conversation: { sandbox_status: 'RUNNING' as const } }

/** Serves a repository with these offers. Answers change the state of the offers, as on a real server. */
function offers(items: ExecutableWithState[], refuse?: () => Response) {
  const answers: unknown[] = []
  const body = () => HttpResponse.json({ directory: 'engine', repository: 'github.com/ada/engine', items })
  const extra = [
    http.get('*/app-conversations/:id/consent', body),
    http.post('*/app-conversations/:id/consent', async ({ request }) => {
      const answer = (await request.json()) as { allow?: string[]; refuse?: string[] }
      answers.push(answer)
      if (refuse) return refuse()
      for (const item of items) {
        if (answer.allow?.includes(item.offer.hash)) item.state = 'allowed'
        if (answer.refuse?.includes(item.offer.hash)) item.state = 'refused'
      }
      return body()
    }),
  ]
  return { answers, extra }
}

const script = () => fakeExecutable()

const FAILED: StartTask['stages'] = [
  {
    status: 'RUNNING_SETUP_SCRIPT',
    state: 'failed',
    started_at: null,
    finished_at: null,
    detail: '.openhands/setup.sh failed with exit code 7.',
    output: 'almost',
  },
]
const servers = () =>
  fakeExecutable({
    kind: 'mcp_server',
    path: '.mcp.json',
    name: 'sums',
    hash: 'b'.repeat(64),
    runs: ['python sums.py'],
    definition: { command: 'python', args: ['sums.py'] },
    files: [],
  })

it('shows all of what a repository would run, and takes an answer to each', async () => {
  const { answers, extra } = offers([
    { offer: script(), state: 'pending' },
    { offer: servers(), state: 'pending' },
  ])
  const { user } = openConversation({ ...RUNNING, extra })
  expect(await screen.findByText(/wants to run 2 scripts/)).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Look at it' }))
  const card = await screen.findByRole('article', { name: /^Set-up script/ })
  expect(within(card).getByText('make install')).toBeVisible()
  expect(within(card).getByText('a'.repeat(64))).toBeVisible()
  await user.click(within(card).getByRole('button', { name: 'Allow Set-up script' }))
  expect(await within(card).findByText('Allowed')).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Refuse MCP server sums' }))
  expect(await screen.findByText('Refused')).toBeVisible()
  expect(answers).toEqual([{ allow: ['a'.repeat(64)] }, { refuse: ['b'.repeat(64)] }])
  await user.keyboard('{Escape}')
  expect(screen.queryByText(/wants to run/)).not.toBeInTheDocument()
  expect(screen.getByRole('button', { name: 'What the repository may run' })).toBeVisible()
})

it('says what of an offer is not used', async () => {
  const reason = 'agents/forecaster: its hooks are not used: stop: Input should be a valid list'
  const plugin = fakeExecutable({
    kind: 'plugin',
    name: 'weather',
    path: '.agents/plugins/weather',
    left_out: [reason],
  })
  const { extra } = offers([
    { offer: plugin, state: 'pending' },
    { offer: servers(), state: 'pending' },
  ])
  const { user } = openConversation({ ...RUNNING, extra })
  await user.click(await screen.findByRole('button', { name: 'Look at it' }))
  const card = await screen.findByRole('article', { name: /^Plugin weather/ })
  expect(within(card).getByText('Parts of it are not used')).toBeVisible()
  expect(within(card).getByText(reason)).toBeVisible()
  expect(screen.getAllByText('Parts of it are not used')).toHaveLength(1)
})

it('allows all of it at once', async () => {
  const { answers, extra } = offers([
    { offer: script(), state: 'pending' },
    { offer: servers(), state: 'pending' },
    {
      offer: fakeExecutable({ hash: 'c'.repeat(64), name: 'x', problem: 'It is a link.' }),
      state: 'pending',
    },
  ])
  const { user } = openConversation({ ...RUNNING, extra })
  await user.click(await screen.findByRole('button', { name: 'Look at it' }))
  expect(screen.getByText('It is a link.')).toBeVisible()
  expect(screen.getByRole('button', { name: 'Allow Set-up script x' })).toBeDisabled()
  await user.click(screen.getByRole('button', { name: 'Allow all 2' }))
  expect(await screen.findAllByText('Allowed')).toHaveLength(2)
  expect(answers).toEqual([{ allow: ['a'.repeat(64), 'b'.repeat(64)] }])
})

it('shows what has changed since it was allowed', async () => {
  const approved = fakeExecutable({ hash: 'd'.repeat(64) }, 'make install\nmake clean\n')
  const { extra } = offers([
    { offer: fakeExecutable({}, 'make install\nrm -rf /\n'), state: 'pending', approved },
  ])
  const { user } = openConversation({ ...RUNNING, extra })
  await user.click(await screen.findByRole('button', { name: 'Look at it' }))
  expect(screen.getByText('Changed since you allowed it')).toBeVisible()
  expect(screen.getByText('rm -rf /').textContent).toBe('+rm -rf /')
  expect(screen.getByText('make clean').textContent).toBe('−make clean')
})

it('says when an answer came too late', async () => {
  const { extra } = offers([{ offer: script(), state: 'pending' }], () =>
    problem(409, { code: 'offer_changed', detail: 'The repository does not offer this any more.' }),
  )
  const { user } = openConversation({ ...RUNNING, extra })
  await user.click(await screen.findByRole('button', { name: 'Look at it' }))
  await user.click(screen.getByRole('button', { name: 'Allow Set-up script' }))
  expect(await screen.findByText('The repository does not offer this any more.')).toBeVisible()
})

it('says that the set-up script failed, and runs it again', async () => {
  const { extra } = offers([{ offer: script(), state: 'allowed' }])
  const { user, sent } = openConversation({ ...RUNNING, extra, task: { stages: FAILED } })
  expect(await screen.findByText('The set-up script failed')).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Look at it' }))
  const dialog = within(await screen.findByRole('dialog'))
  expect(dialog.getByText('.openhands/setup.sh failed with exit code 7.')).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Run again' }))
  await waitFor(() => expect(sent['run-setup-script']).toEqual([{ hash: 'a'.repeat(64) }]))
})

it('says why a set-up script is not run again', async () => {
  const { extra } = offers([{ offer: script(), state: 'allowed' }])
  const refusal = http.post('*/run-setup-script', () =>
    problem(409, { code: 'setup_script_runs', detail: 'A set-up script is running already.' }),
  )
  const { user } = openConversation({ ...RUNNING, extra: [refusal, ...extra], task: { stages: FAILED } })
  await user.click(await screen.findByRole('button', { name: 'Look at it' }))
  await user.click(screen.getByRole('button', { name: 'Run again' }))
  expect(await screen.findByText('A set-up script is running already.')).toBeVisible()
})

it('does not run a set-up script again that is another by now', async () => {
  const { extra } = offers([{ offer: script(), state: 'pending' }])
  const { user } = openConversation({ ...RUNNING, extra, task: { stages: FAILED } })
  await user.click(await screen.findByRole('button', { name: 'Look at it' }))
  expect(await screen.findByText('The set-up script failed')).toBeVisible()
  expect(screen.queryByRole('button', { name: 'Run again' })).not.toBeInTheDocument()
})

it('asks nothing of a repository that has nothing to run', async () => {
  openConversation(RUNNING)
  await screen.findByRole('button', { name: 'What the agent knows' })
  expect(screen.queryByRole('button', { name: 'What the repository may run' })).not.toBeInTheDocument()
})

it('groups what several repositories would run, and says which one is meant', async () => {
  const answers: unknown[] = []
  const item = (state: ExecutableWithState['state']): ExecutableWithState => ({ offer: script(), state })
  const server = {
    ...script(),
    kind: 'mcp_server' as const,
    name: 'sums',
    path: '.mcp.json',
    hash: 'b'.repeat(64),
  }
  const taken: ExecutableWithState = { offer: server, state: 'allowed', is_name_taken: true }
  const body = (state: ExecutableWithState['state']) => ({
    directory: 'engine',
    repository: 'github.com/ada/engine',
    items: [item('pending')],
    further: [{ directory: 'lamp', repository: 'lab.example/crew/lamp', items: [item(state), taken] }],
  })
  const { user } = openConversation({
    ...RUNNING,
    task: { stages: FAILED },
    extra: [
      http.get('*/app-conversations/:id/consent', () => HttpResponse.json(body('pending'))),
      http.post('*/app-conversations/:id/consent', async ({ request }) => {
        answers.push(await request.json())
        return HttpResponse.json(body('allowed'))
      }),
      http.post('*/run-setup-script', async ({ request }) => {
        answers.push(await request.json())
        return HttpResponse.json({ success: true })
      }),
    ],
  })
  expect(await screen.findByText(/The repositories want to run 2 scripts/)).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Look at it' }))
  const dialog = within(await screen.findByRole('dialog'))
  expect(dialog.getByText('.openhands/setup.sh failed with exit code 7.')).toBeVisible()
  const lamp = within(await screen.findByRole('region', { name: 'lab.example/crew/lamp' }))
  expect(lamp.getByText(/Another MCP server of this conversation has this name/)).toBeVisible()
  await user.click(lamp.getByRole('button', { name: 'Allow Set-up script' }))
  await user.click(await lamp.findByRole('button', { name: 'Run again' }))
  const hash = 'a'.repeat(64)
  await waitFor(() =>
    expect(answers).toEqual([
      { allow: [hash], repository: 'lamp' },
      { hash, repository: 'lamp' },
    ]),
  )
})
