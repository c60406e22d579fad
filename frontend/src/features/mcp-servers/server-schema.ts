import * as z from 'zod/mini'
import { STORED_VALUE, type McpServer, type NamedMcpServer } from '@/api/agents/mcp-servers'

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/

const namedValue = z.object({
  name: z.string().check(z.trim()),
  value: z.string().check(z.trim()),
  /** The hosts that get the value of a variable, separated by commas or spaces. */
  hosts: z.string().check(z.trim()),
})

/**
 * The rules of the form. The messages are i18n keys. If the value of a stored header or variable is empty,
 * the stored value stays.
 */
export const serverSchema = z
  .object({
    kind: z.enum(['http', 'stdio']),
    name: z
      .string()
      .check(
        z.trim(),
        z.minLength(1, 'mcp_servers.name_required'),
        z.regex(/^[\w-]*$/, 'mcp_servers.name_invalid'),
      ),
    url: z.string().check(z.trim()),
    signsIn: z.boolean(),
    headers: z.array(namedValue),
    command: z.string().check(z.trim()),
    /** The arguments, one on each line. */
    args: z.string(),
    variables: z.array(namedValue),
  })
  .check(
    z.refine(({ kind, url }) => kind !== 'http' || /^https?:\/\/\S+$/.test(url), {
      path: ['url'],
      error: 'mcp_servers.url_invalid',
    }),
    z.refine(({ kind, command }) => kind !== 'stdio' || command !== '', {
      path: ['command'],
      error: 'mcp_servers.command_required',
    }),
    z.refine(
      ({ kind, variables }) =>
        kind !== 'stdio' || variables.every(({ name }) => !name || VARIABLE.test(name)),
      { path: ['variables'], error: 'mcp_servers.variable_invalid' },
    ),
  )

export type ServerFormValues = z.infer<typeof serverSchema>

/** Returns the values of the form for a server. The values of headers and variables are not included. */
export function toForm(server?: NamedMcpServer): ServerFormValues {
  return {
    kind: server?.transport ?? 'http',
    name: server?.name ?? '',
    url: server?.url ?? '',
    signsIn: Boolean(server?.auth),
    headers: Object.keys(server?.headers ?? {}).map((name) => ({ name, value: '', hosts: '' })),
    command: server?.command ?? '',
    args: (server?.args ?? []).join('\n'),
    variables: Object.keys(server?.env ?? {}).map((name) => ({
      name,
      value: '',
      hosts: (server?.env_hosts[name] ?? []).join(', '),
    })),
  }
}

/**
 * Returns the data to send. A stored header or variable without a new value stays. If a new variable has no
 * hosts and belongs to a known service, the app server adds the hosts of the service.
 */
export function toServer(values: ServerFormValues, stored?: NamedMcpServer): Partial<McpServer> {
  if (values.kind === 'stdio') {
    const known = stored?.env ?? {}
    const hosts = values.variables
      .filter(({ name, hosts }) => name && (hosts || name in known))
      .map(({ name, hosts }) => [name, hosts.split(/[\s,]+/).filter(Boolean)] as const)
    return {
      command: values.command,
      args: linesOf(values.args),
      env: valuesOf(values.variables, known),
      env_hosts: Object.fromEntries(hosts),
    }
  }
  return {
    url: values.url,
    auth: values.signsIn ? { strategy: 'oauth2' } : null,
    headers: valuesOf(values.headers, stored?.headers ?? {}),
  }
}

function valuesOf(fields: z.infer<typeof namedValue>[], stored: Record<string, string>) {
  return Object.fromEntries(
    fields
      .filter(({ name }) => name)
      .map(({ name, value }) => [name, !value && name in stored ? STORED_VALUE : value]),
  )
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line.trim())
}
