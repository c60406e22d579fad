import { screen, waitFor } from '@testing-library/react'
import { expect, test } from 'vitest'
import { fakeMcpServer } from '@/test/agent-factories'
import { openServers } from '@/test/open-mcp-servers'

test('a command gets variables, with the hosts that their values are for', async () => {
  const { user, sent } = openServers({})
  await user.click(await screen.findByRole('button', { name: 'Add a server' }))
  await user.click(await screen.findByRole('radio', { name: 'Command in sandbox' }))
  await user.type(screen.getByLabelText('Name'), 'files')
  await user.type(screen.getByLabelText('Command'), 'npx')
  await user.type(screen.getByLabelText('Arguments'), '-y{Enter}server-files')
  await user.click(screen.getByRole('button', { name: 'Add a variable' }))
  await user.type(screen.getByLabelText('Name of variable 1'), 'API TOKEN')
  await user.type(screen.getByLabelText('Value of variable 1'), 'a=b-secret')
  await user.type(screen.getByLabelText('Hosts of variable 1'), 'api.example.org, b.example.org:8443')
  await user.click(screen.getByRole('button', { name: 'Add a variable' }))
  await user.type(screen.getByLabelText('Name of variable 2'), 'DEBUG')
  await user.type(screen.getByLabelText('Value of variable 2'), '1')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  expect(await screen.findByText(/begins with no digit/)).toBeVisible()
  await user.clear(screen.getByLabelText('Name of variable 1'))
  await user.type(screen.getByLabelText('Name of variable 1'), 'API_TOKEN')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  await waitFor(() => expect(screen.queryByRole('dialog')).not.toBeInTheDocument())
  expect(sent).toEqual([
    [
      'POST',
      'files',
      {
        command: 'npx',
        args: ['-y', 'server-files'],
        env: { API_TOKEN: 'a=b-secret', DEBUG: '1' },
        env_hosts: { API_TOKEN: ['api.example.org', 'b.example.org:8443'] },
      },
    ],
  ])
  expect(await screen.findByText('npx -y server-files')).toBeVisible()
  expect(screen.getByText('Readable in the sandbox: DEBUG')).toBeVisible()
  expect(screen.queryByRole('button', { name: 'Test files' })).not.toBeInTheDocument()
})

test('the variables of a command come without their values, which are kept', async () => {
  const files = fakeMcpServer({
    transport: 'stdio',
    url: null,
    command: 'npx',
    env: { TOKEN: '**********', DEBUG: '**********' },
    env_hosts: { TOKEN: ['api.example.org'], DEBUG: [] },
  })
  const { user, sent } = openServers({ files })
  await user.click(await screen.findByRole('button', { name: 'Actions for files' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Edit' }))
  expect(await screen.findByLabelText('Value of variable 1')).toHaveValue('')
  expect(screen.getByLabelText('Hosts of variable 1')).toHaveValue('api.example.org')
  await user.click(screen.getByRole('button', { name: 'Remove variable 2' }))
  await user.click(screen.getByRole('button', { name: 'Add a variable' }))
  await user.type(screen.getByLabelText('Name of variable 2'), 'LEVEL')
  await user.type(screen.getByLabelText('Value of variable 2'), 'low')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  await waitFor(() => expect(screen.queryByRole('dialog')).not.toBeInTheDocument())
  expect(sent).toEqual([
    [
      'PATCH',
      'files',
      {
        command: 'npx',
        args: [],
        env: { TOKEN: '**********', LEVEL: 'low' },
        env_hosts: { TOKEN: ['api.example.org'] },
      },
    ],
  ])
})
