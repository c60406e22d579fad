import { useTranslation } from 'react-i18next'
import type { McpTestReport } from '@/api/agents/mcp-servers'
import { Notice } from '@/ui/feedback/notice'

/** The result of testing a server: its tools, or the reason why there are none. */
export function TestReport({ name, report }: { name: string; report: McpTestReport }) {
  const { t } = useTranslation()
  if (!report.ok) {
    return (
      <Notice tone="danger" title={t('mcp_servers.test_failed', { name })}>
        <p>{report.error}</p>
        {report.fix && <p className="mt-1 text-text">{report.fix}</p>}
      </Notice>
    )
  }
  return (
    <Notice tone="success" title={t('mcp_servers.tools', { count: report.tools.length })}>
      {report.tools.length > 0 && (
        <ul className="mt-1 flex max-h-72 flex-col gap-1 overflow-y-auto">
          {report.tools.map((tool) => (
            <li key={tool.name}>
              <span className="font-mono text-text">{tool.name}</span>
              {tool.description && <span className="line-clamp-2 text-xs">{tool.description}</span>}
            </li>
          ))}
        </ul>
      )}
    </Notice>
  )
}
