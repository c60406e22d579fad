import * as z from 'zod/mini'
import { STORED_VALUE, type McpServer, type NamedMcpServer } from '@/api/mcp-servers'

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*=/

/** Messages are i18n keys. The empty value of a stored header means "keep it". */
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
    headers: z.array(z.object({ name: z.string().check(z.trim()), value: z.string().check(z.trim()) })),
    command: z.string().check(z.trim()),
    /** One per line. */
    args: z.string(),
    /** NAME=value, one per line. A stored value reads as asterisks, which keep it. */
    env: z.string(),
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
    z.refine(({ kind, env }) => kind !== 'stdio' || linesOf(env).every((line) => VARIABLE.test(line)), {
      path: ['env'],
      error: 'mcp_servers.env_invalid',
    }),
  )

export type ServerFormValues = z.infer<typeof serverSchema>

/** What the form shows of a server; its headers come without their values. */
export function toForm(server?: NamedMcpServer): ServerFormValues {
  return {
    kind: server?.transport ?? 'http',
    name: server?.name ?? '',
    url: server?.url ?? '',
    signsIn: Boolean(server?.auth),
    headers: Object.keys(server?.headers ?? {}).map((name) => ({ name, value: '' })),
    command: server?.command ?? '',
    args: (server?.args ?? []).join('\n'),
    env: Object.entries(server?.env ?? {})
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
  }
}

/** What is sent: a stored header without a new value is kept. */
export function toServer(values: ServerFormValues, stored?: NamedMcpServer): Partial<McpServer> {
  if (values.kind === 'stdio') {
    const pairs = linesOf(values.env).map((line) => {
      const [name = '', ...rest] = line.split('=')
      return [name, rest.join('=')] as const
    })
    return { command: values.command, args: linesOf(values.args), env: Object.fromEntries(pairs) }
  }
  const headers = values.headers
    .filter(({ name }) => name)
    .map(
      ({ name, value }) => [name, !value && stored && name in stored.headers ? STORED_VALUE : value] as const,
    )
  return {
    url: values.url,
    auth: values.signsIn ? { strategy: 'oauth2' } : null,
    headers: Object.fromEntries(headers),
  }
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line.trim())
}
