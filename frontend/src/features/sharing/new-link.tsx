import type { TFunction } from 'i18next'
import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { isApiError, type SecretFinding } from '@/api/errors'
import { useCreateLink, type CreatedLink } from '@/api/conversations/links'
import { copyText } from '@/lib/browser/copy-text'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Notice } from '@/ui/feedback/notice'
import { Select } from '@/ui/form/select'

const DAY_HOURS = 24
const HOURS = [1, 8, DAY_HOURS, 7 * DAY_HOURS, 30 * DAY_HOURS, 90 * DAY_HOURS]
const DEFAULT_HOURS = 7 * DAY_HOURS
const CONFIRMABLE = 'secrets_found'

/** Creates a link. Possible secrets are listed first, and the user must tick each of them. */
export function NewLink({ conversationId }: { conversationId: string }) {
  const { t } = useTranslation()
  const create = useCreateLink(conversationId)
  const [name, setName] = useState('')
  const [hours, setHours] = useState(DEFAULT_HOURS)
  const [confirmed, setConfirmed] = useState<ReadonlySet<string>>(new Set())
  const error = isApiError(create.error) ? create.error : null
  const findings = error?.code === CONFIRMABLE ? error.findings : []
  const isConfirmed = findings.every(({ id }) => confirmed.has(id))

  function handleToggle(id: string) {
    const next = new Set(confirmed)
    if (!next.delete(id)) next.add(id)
    setConfirmed(next)
  }

  function handleMake() {
    const wanted = { name: name.trim(), hours, confirmed_findings: [...confirmed] }
    create.mutate(wanted, {
      onSuccess: () => {
        setName('')
        setConfirmed(new Set())
      },
    })
  }

  return (
    <div className="space-y-3">
      <div className="flex flex-wrap items-end gap-3">
        <Field label={t('links.name')} className="min-w-40 flex-1">
          {(control) => (
            <Input
              {...control}
              value={name}
              maxLength={100}
              autoComplete="off"
              placeholder={t('links.name_placeholder')}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Field label={t('links.valid')} className="min-w-32">
          {(control) => (
            <Select {...control} value={hours} onChange={(event) => setHours(Number(event.target.value))}>
              {HOURS.map((count) => (
                <option key={count} value={count}>
                  {count < DAY_HOURS
                    ? t('links.hours', { count })
                    : t('links.days', { count: count / DAY_HOURS })}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {findings.length === 0 && (
          <Button disabled={create.isPending} onClick={handleMake}>
            {t(create.isPending ? 'links.searching' : 'links.make')}
          </Button>
        )}
      </div>
      {findings.length > 0 && (
        <Notice tone="warning">
          <p>{t('links.found')}</p>
          <ul className="my-2 max-h-56 space-y-2 overflow-y-auto">
            {findings.map((finding) => (
              <FindingRow
                key={finding.id}
                finding={finding}
                isConfirmed={confirmed.has(finding.id)}
                onToggle={() => handleToggle(finding.id)}
              />
            ))}
          </ul>
          <Button size="sm" disabled={!isConfirmed || create.isPending} onClick={handleMake}>
            {t(create.isPending ? 'links.searching' : 'links.confirm')}
          </Button>
        </Notice>
      )}
      {create.isError && findings.length === 0 && <ErrorState error={create.error} />}
      {create.data && <CreatedLinkNotice link={create.data} />}
    </div>
  )
}

interface FindingRowProps {
  finding: SecretFinding
  isConfirmed: boolean
  onToggle: () => void
}

function FindingRow({ finding, isConfirmed, onToggle }: FindingRowProps) {
  const { t } = useTranslation()
  const [place] = finding.places
  return (
    <li>
      <label className="flex items-start gap-2">
        <input
          type="checkbox"
          checked={isConfirmed}
          onChange={onToggle}
          className="mt-1 size-4 shrink-0 accent-accent"
        />
        <span className="min-w-0 wrap-anywhere">
          {finding.name ?? kindText(t, finding.kind)} <code>{finding.excerpt}</code>
          {place && (
            <span className="block text-xs text-muted">
              {place.seq === 0 ? t('links.in_title') : placeText(t, finding.count, place)}
            </span>
          )}
        </span>
      </label>
    </li>
  )
}

function placeText(t: TFunction, count: number, { seq, path }: SecretFinding['places'][number]): string {
  return t('links.place', { count, more: count - 1, seq, path })
}

/** Returns the text for a kind of secret. A newer server may have kinds that are unknown here. */
function kindText(t: TFunction, kind: string): string {
  return t(`links.kind.${kind}`, { defaultValue: kind }) as string
}

function CreatedLinkNotice({ link }: { link: CreatedLink }) {
  const { t } = useTranslation()
  const [isCopied, setCopied] = useState(false)

  async function handleCopy() {
    const copied = await copyText(link.url)
    setCopied(copied)
    if (!copied) toast.error(t('action.copy_failed'))
  }

  return (
    <div role="status" className="space-y-2">
      <p className="text-sm">{t('links.made')}</p>
      <div className="flex gap-2">
        <Input
          readOnly
          aria-label={t('links.link')}
          value={link.url}
          onFocus={(event) => event.target.select()}
          className="font-mono"
        />
        <Button
          className="shrink-0"
          icon={isCopied ? <Check className="size-4" /> : <Copy className="size-4" />}
          onClick={() => void handleCopy()}
        >
          {t(isCopied ? 'action.copied' : 'links.copy')}
        </Button>
      </div>
    </div>
  )
}
