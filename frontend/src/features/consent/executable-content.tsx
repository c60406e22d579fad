import { useTranslation } from 'react-i18next'
import type { Executable, ExecutableFile } from '@/api/approval/executables'
import { lineDiff } from '@/lib/text/line-diff'
import { DiffLines, withContext } from '@/ui/text/diff-lines'
import { Notice } from '@/ui/feedback/notice'
import { ScrollPre } from '@/ui/text/scroll-pre'

export interface ExecutableContentProps {
  executable: Executable
  /** The version that the user allowed last. If it is given, only the differences from it are shown. */
  approved?: Executable | null
}

/**
 * The complete content of an executable: its commands, its definition, its files, and the hash of all of
 * them.
 */
export function ExecutableContent({ executable, approved }: ExecutableContentProps) {
  const { t } = useTranslation()
  const files = executable.files ?? []
  return (
    <div className="flex flex-col gap-3 text-sm">
      {executable.left_out && executable.left_out.length > 0 && (
        <Notice tone="neutral" title={t('offer.left_out')}>
          <ul className="flex flex-col gap-1 wrap-anywhere">
            {executable.left_out.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ul>
        </Notice>
      )}
      {executable.runs && executable.runs.length > 0 && (
        <div>
          <p className="text-xs text-muted">{t('offer.runs')}</p>
          <ScrollPre className="mt-1 rounded-md bg-sunken px-3 py-2 font-mono text-xs wrap-anywhere whitespace-pre-wrap">
            {executable.runs.join('\n')}
          </ScrollPre>
        </div>
      )}
      {executable.definition && (
        <Text
          name={t('offer.definition', { path: executable.path })}
          text={asText(executable.definition)}
          before={approved?.definition ? asText(approved.definition) : undefined}
        />
      )}
      {files.map((file) => (
        <File key={file.path} file={file} approved={approved} />
      ))}
      {approved?.files
        ?.filter(({ path }) => !files.some((file) => file.path === path))
        .map((file) => (
          <Text key={file.path} name={file.path} text="" before={file.text ?? ''} isGone />
        ))}
      <p className="text-xs text-muted">
        {t('offer.hash')} <code className="wrap-anywhere">{executable.hash}</code>
      </p>
    </div>
  )
}

function File({ file, approved }: { file: ExecutableFile; approved: Executable | null | undefined }) {
  const { t } = useTranslation()
  const before = approved?.files?.find(({ path }) => path === file.path)
  if (file.text == null) {
    return (
      <div>
        <p className="font-mono text-xs wrap-anywhere">{file.path}</p>
        <p className="text-xs text-muted">{t('offer.not_text', { size: file.size.toLocaleString() })}</p>
        <p className="font-mono text-xs wrap-anywhere text-muted">{file.sha256}</p>
      </div>
    )
  }
  return <Text name={file.path} text={file.text} before={approved ? (before?.text ?? '') : undefined} />
}

interface TextProps {
  name: string
  text: string
  before?: string
  isGone?: boolean
}

function Text({ name, text, before, isGone = false }: TextProps) {
  const { t } = useTranslation()
  const isSame = before === text
  return (
    <details open={!isSame} className="overflow-hidden rounded-md border border-border">
      <summary className="cursor-pointer bg-sunken px-3 py-1.5 font-mono text-xs wrap-anywhere">
        {name}
        {isSame && <span className="ml-2 font-sans text-muted">{t('offer.unchanged_file')}</span>}
        {isGone && <span className="ml-2 font-sans text-muted">{t('offer.removed_file')}</span>}
      </summary>
      {before === undefined || isSame ? (
        <ScrollPre className="max-h-80 px-3 py-2 font-mono text-xs leading-relaxed wrap-anywhere whitespace-pre-wrap">
          {text}
        </ScrollPre>
      ) : (
        <DiffLines lines={withContext(lineDiff(before, text))} wraps className="max-h-80" />
      )}
    </details>
  )
}

function asText(definition: Record<string, unknown>): string {
  return JSON.stringify(definition, null, 2)
}
