import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useForm } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { toast } from 'sonner'
import type { ConversationRepository } from '@/api/conversations/repositories'
import { isApiError } from '@/api/errors'
import { proposalQuery, type PullRequestProposal, useCreatePullRequest } from '@/api/git/pull-requests'
import { Button, buttonClass } from '@/ui/form/button'
import { Dialog, DialogActions } from '@/ui/overlay/dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Notice } from '@/ui/feedback/notice'
import { Select } from '@/ui/form/select'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { Textarea } from '@/ui/form/textarea'
import { ScreenshotChoice } from './screenshot-choice'

interface Given {
  title: string
  body: string
  head: string
  base: string
  draft: boolean
  labels: string
  reviewers: string
  screenshots: string[]
}

const BRANCH = /^[^\s~^:?*[\\-][^\s~^:?*[\\]*$/

export interface CreateDialogProps {
  conversationId: string
  /** The repositories of the conversation, in order. */
  repositories: ConversationRepository[]
  onClose: () => void
}

/** Opens a pull request. The form starts with a draft that is made from the work. The user can edit it. */
export function CreateDialog({ conversationId, repositories, onClose }: CreateDialogProps) {
  const { t } = useTranslation()
  const [directory, setDirectory] = useState<string | null>(null)
  const proposal = useQuery(proposalQuery(conversationId, directory))
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={t('pull_requests.create')}
      description={proposal.data && t('pull_requests.create_lead', { repository: proposal.data.repository })}
      className="sm:max-w-2xl"
    >
      {repositories.length > 1 && (
        <Field label={t('pull_requests.repository_field')} className="mb-4">
          {(control) => (
            <Select
              {...control}
              value={directory ?? ''}
              onChange={(event) => setDirectory(event.target.value || null)}
            >
              {repositories.map((one) => (
                <option key={one.directory} value={one.directory ?? ''}>
                  {one.name}
                </option>
              ))}
            </Select>
          )}
        </Field>
      )}
      {proposal.isPending && <SkeletonList rows={5} label={t('pull_requests.drafting')} />}
      {proposal.isError && <CannotPropose error={proposal.error} onRetry={() => void proposal.refetch()} />}
      {proposal.data && (
        <CreateForm
          key={directory}
          conversationId={conversationId}
          directory={directory}
          proposal={proposal.data}
          onClose={onClose}
        />
      )}
    </Dialog>
  )
}

function CannotPropose({ error, onRetry }: { error: Error; onRetry: () => void }) {
  const { t } = useTranslation()
  const wantsToken = isApiError(error) && error.code === 'no_git_credential'
  return (
    <div className="flex flex-col items-start gap-3">
      <ErrorState error={error} onRetry={wantsToken ? undefined : onRetry} />
      {wantsToken && (
        <Link to="/settings/git-hosts" className={buttonClass('primary')}>
          {t('pull_requests.add_token')}
        </Link>
      )}
    </div>
  )
}

interface CreateFormProps {
  conversationId: string
  directory: string | null
  proposal: PullRequestProposal
  onClose: () => void
}

function CreateForm({ conversationId, directory, proposal, onClose }: CreateFormProps) {
  const { t } = useTranslation()
  const create = useCreatePullRequest(conversationId)
  const { register, handleSubmit, formState } = useForm<Given>({
    defaultValues: {
      title: proposal.title,
      body: proposal.body,
      head: proposal.head,
      base: proposal.base,
      draft: true,
      labels: '',
      reviewers: '',
      screenshots: [],
    },
  })
  const { errors } = formState
  const submit = handleSubmit((given) =>
    create.mutate(
      {
        ...given,
        ...(directory && { repository: directory }),
        labels: namesIn(given.labels),
        reviewers: namesIn(given.reviewers),
      },
      {
        onSuccess: ({ pull_request, is_new, left_out }) => {
          toast.success(
            t(is_new ? 'pull_requests.created' : 'pull_requests.was_there', { number: pull_request.number }),
          )
          left_out.forEach((sentence) => toast.warning(sentence))
          onClose()
        },
      },
    ),
  )
  return (
    <form onSubmit={(event) => void submit(event)} noValidate className="flex flex-col gap-4">
      <Field label={t('pull_requests.title_field')} error={errors.title && t('pull_requests.title_required')}>
        {(control) => <Input {...control} {...register('title', { required: true, maxLength: 400 })} />}
      </Field>
      <Field label={t('pull_requests.body_field')}>
        {(control) => (
          <Textarea {...control} rows={10} className="max-h-[40vh] font-mono text-xs" {...register('body')} />
        )}
      </Field>
      {proposal.screenshots.length > 0 && (
        <ScreenshotChoice
          screenshots={proposal.screenshots}
          areUploaded={proposal.takes_screenshots}
          field={register('screenshots')}
        />
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={t('pull_requests.head_field')} error={errors.head && t('pull_requests.branch_invalid')}>
          {(control) => (
            <Input
              {...control}
              spellCheck={false}
              className="font-mono"
              {...register('head', { required: true, pattern: BRANCH })}
            />
          )}
        </Field>
        <Field label={t('pull_requests.base_field')} error={errors.base && t('pull_requests.branch_invalid')}>
          {(control) => (
            <Input
              {...control}
              spellCheck={false}
              className="font-mono"
              {...register('base', { required: true, pattern: BRANCH })}
            />
          )}
        </Field>
        <Field label={t('pull_requests.reviewers_field')} hint={t('pull_requests.names_hint')}>
          {(control) => <Input {...control} spellCheck={false} {...register('reviewers')} />}
        </Field>
        <Field label={t('pull_requests.labels_field')} hint={t('pull_requests.names_hint')}>
          {(control) => <Input {...control} spellCheck={false} {...register('labels')} />}
        </Field>
      </div>
      <label className="flex items-center gap-2 text-sm">
        <input type="checkbox" className="size-4 accent-accent" {...register('draft')} />
        {t('pull_requests.draft_field')}
      </label>
      {proposal.uncommitted_files > 0 && (
        <Notice tone="neutral">
          {t('pull_requests.uncommitted', { count: proposal.uncommitted_files })}
        </Notice>
      )}
      {create.isError && <ErrorState error={create.error} title={t('pull_requests.create_failed')} />}
      <DialogActions>
        <Button onClick={onClose}>{t('action.cancel')}</Button>
        <Button type="submit" variant="primary" isBusy={create.isPending}>
          {t('pull_requests.create')}
        </Button>
      </DialogActions>
    </form>
  )
}

/** Returns the names in a text that are separated by commas. Labels may contain spaces. */
function namesIn(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
}
