import { http, HttpResponse } from 'msw'
import type { McpServer } from '@/api/agents/mcp-servers'
import { fakeMcpServer } from './agent-factories'
import { renderApp } from './render-app'

/** Serves MCP servers as the app server stores them. `sent` collects the saved data. */
export function openServers(servers: Record<string, McpServer>, report?: () => Response) {
  const stored = { ...servers }
  const sent: unknown[] = []
  const keep = async (request: Request, name: string) => {
    const body = (await request.json()) as Partial<McpServer>
    sent.push([request.method, name, body])
    stored[name] = fakeMcpServer({ ...stored[name], ...body })
    return HttpResponse.json(stored[name])
  }
  const app = renderApp({
    url: '/settings/mcp-servers',
    extra: [
      http.get('*/api/v1/settings/mcp', () => HttpResponse.json({ mcp_config: stored })),
      http.post('*/api/v1/settings/mcp/:name/test', () => report?.() ?? HttpResponse.error()),
      http.post('*/api/v1/settings/mcp/:name', ({ request, params }) => keep(request, String(params.name))),
      http.patch('*/api/v1/settings/mcp/:name', ({ request, params }) => keep(request, String(params.name))),
      http.delete('*/api/v1/settings/mcp/:name', ({ params }) => {
        delete stored[String(params.name)]
        return new HttpResponse(null, { status: 204 })
      }),
    ],
  })
  return { ...app, sent }
}
