import { useQuery } from '@tanstack/react-query'
import { ArrowRight, CircleDollarSign, Package, ShieldQuestion, Sparkles } from 'lucide-react'
import type { KeyboardEvent } from 'react'
import { Controller, useForm, useWatch } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import { confirmationQuery } from '@/api/approval/confirmation'
import { isApiError } from '@/api/errors'
import { sandboxSpecsQuery, SERVER_SPEC_ID } from '@/api/sandboxes/sandbox-specs'
import { useStartConversation } from '@/api/conversations/start-tasks'
import { CONFIRMATION_MODES, type AppConversation, type LLMProfile } from '@/api/types'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { GoalToggle } from '@/ui/form/goal-toggle'
import { Input } from '@/ui/form/input'
import { Kbd, MOD_KEY } from '@/ui/text/kbd'
import { Select } from '@/ui/form/select'
import { FieldLabel } from './field-label'
import { RepositoryOwnerNotice } from './repository-owner-notice'
import { rememberRepository } from './recent-repositories'
import { RepositoryFields } from './repository-fields'
import { startRequest, type TaskInput } from './start-request'
import { useRepositoryOwner } from './use-repository-owner'

export interface ComposerProps {
  profiles: LLMProfile[]
  activeProfile: string | null
  /**
   * The conversation whose sandbox the task shares. If it is undefined, the app server finds or creates a
   * sandbox.
   */
  sharedWith?: AppConversation
}

/** The form for a new task: the user describes the task, chooses where it runs, and starts it. */
export function Composer({ profiles, activeProfile, sharedWith }: ComposerProps) {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const start = useStartConversation()
  const confirmation = useQuery(confirmationQuery())
  const specs = useQuery(sandboxSpecsQuery()).data ?? []
  const {
    register,
    handleSubmit,
    formState,
    control: form,
  } = useForm<TaskInput>({
    defaultValues: {
      task: '',
      repository: sharedWith?.selected_repository ?? '',
      branch: sharedWith?.selected_branch ?? '',
      directory: sharedWith?.selected_directory ?? '',
      clone: '',
      submodules: '',
      more: [],
      profile: defaultProfile(profiles, activeProfile),
      budget: '',
      confirmation: '',
      sandbox_spec: '',
      goal_rounds: null,
    },
  })
  const [chosenProfile, repository] = useWatch({ control: form, name: ['profile', 'repository'] })
  const owner = useRepositoryOwner(repository)
  // If the team enforces a model, its profile must be sent. The app server would refuse the profile that the
  // user chose before typing the repository.
  const enforcedProfile = (owner?.is_member && owner.llm_profile) || null
  const profileName = enforcedProfile ?? chosenProfile
  const defaultBudget = profiles.find((profile) => profile.name === profileName)?.max_budget_per_task
  const rejected = rejectedField(start.error)

  const submit = handleSubmit((input) =>
    start.mutate(
      startRequest(
        { ...input, profile: enforcedProfile ?? input.profile },
        sharedWith && (sharedWith.sandbox_id ?? sharedWith.id),
      ),
      {
        onSuccess: (task) => {
          if (input.repository.trim()) rememberRepository(input.repository.trim())
          void navigate(`/conversations/${task.app_conversation_id}`)
        },
      },
    ),
  )

  function handleKeyDown(event: KeyboardEvent) {
    if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) void submit()
  }

  const taskError = formState.errors.task && t('home.task_required')
  return (
    <Card className="overflow-hidden">
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- a shortcut for all fields */}
      <form onSubmit={(event) => void submit(event)} onKeyDown={handleKeyDown} noValidate>
        <div className="rounded-t-xl focus-within:bg-accent-soft/25 focus-within:inset-ring-2 focus-within:inset-ring-accent">
          <textarea
            aria-label={t('home.task')}
            aria-invalid={taskError ? true : undefined}
            placeholder={t('home.task_placeholder')}
            rows={4}
            className="field-sizing-content max-h-[45vh] min-h-32 w-full resize-none bg-transparent px-5 pt-5 pb-3 text-base leading-relaxed outline-none"
            {...register('task', { validate: (task) => task.trim() !== '' })}
          />
          {taskError && (
            <p role="alert" className="px-5 pb-3 text-sm text-danger">
              {taskError}
            </p>
          )}
        </div>
        <div className="grid grid-cols-12 gap-4 border-t border-border px-5 py-4">
          <RepositoryFields
            form={form}
            register={register}
            repositoryError={rejected === 'repository' && <RejectedReason error={start.error} />}
            branchError={rejected === 'branch' && <RejectedReason error={start.error} />}
            directoryError={rejected === 'directory' && <RejectedReason error={start.error} />}
          />
          {owner && (
            <div className="col-span-12">
              <RepositoryOwnerNotice owner={owner} />
            </div>
          )}
          <Field
            className="col-span-7 sm:col-span-4"
            label={<FieldLabel icon={<Sparkles />}>{t('home.model')}</FieldLabel>}
          >
            {(control) =>
              enforcedProfile ? (
                <Select {...control} disabled>
                  <option>{enforcedProfile}</option>
                </Select>
              ) : (
                <Select {...control} {...register('profile')}>
                  {profiles.map((profile) => (
                    <option key={profile.name} value={profile.name}>
                      {profile.is_recording ? `${profile.name} (${t('home.recorded')})` : profile.name}
                    </option>
                  ))}
                </Select>
              )
            }
          </Field>
          <Field
            className="col-span-5 sm:col-span-3"
            label={<FieldLabel icon={<CircleDollarSign />}>{t('home.budget')}</FieldLabel>}
            error={
              formState.errors.budget
                ? t('models.budget_invalid')
                : rejected === 'budget' && <RejectedReason error={start.error} />
            }
          >
            {(control) => (
              <Input
                {...control}
                inputMode="decimal"
                placeholder={defaultBudget?.toString() ?? t('home.no_limit')}
                {...register('budget', { pattern: /^\s*(\d+([.,]\d+)?)?\s*$/ })}
              />
            )}
          </Field>
          <Field
            className="col-span-12 sm:col-span-5"
            label={<FieldLabel icon={<ShieldQuestion />}>{t('confirmation_mode.label')}</FieldLabel>}
          >
            {(control) => (
              <Select {...control} {...register('confirmation')}>
                <option value="">
                  {confirmation.data
                    ? t('confirmation_mode.as_set', {
                        mode: t(
                          `confirmation_mode.${confirmation.data.mode ?? confirmation.data.default_mode}`,
                        ),
                      })
                    : t('confirmation_mode.default')}
                </option>
                {CONFIRMATION_MODES.map((mode) => (
                  <option key={mode} value={mode}>
                    {t(`confirmation_mode.${mode}`)}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          {!sharedWith && specs.length > 1 && (
            <Field
              className="col-span-12"
              label={<FieldLabel icon={<Package />}>{t('home.sandbox_image')}</FieldLabel>}
            >
              {(control) => (
                <Select {...control} {...register('sandbox_spec')}>
                  <option value="">{t('home.sandbox_image_as_set')}</option>
                  {specs.map((spec) => (
                    <option key={spec.id} value={spec.id}>
                      {spec.id === SERVER_SPEC_ID ? t('images.servers_own') : spec.name}
                    </option>
                  ))}
                </Select>
              )}
            </Field>
          )}
        </div>
        {start.isError && !rejected && <ErrorState error={start.error} className="mx-5 mb-4" />}
        <div className="flex items-center justify-between gap-4 border-t border-border bg-sunken/60 px-5 py-3">
          <p className="text-xs text-muted">{t('home.repository_hint')}</p>
          <div className="flex items-center gap-3">
            <Controller
              name="goal_rounds"
              control={form}
              render={({ field }) => <GoalToggle rounds={field.value ?? null} onChange={field.onChange} />}
            />
            <span className="hidden whitespace-nowrap sm:block">
              <Kbd>{MOD_KEY} ↵</Kbd>
            </span>
            <Button
              type="submit"
              variant="primary"
              isBusy={start.isPending}
              icon={<ArrowRight className="size-4" />}
            >
              {t('home.start')}
            </Button>
          </div>
        </div>
      </form>
    </Card>
  )
}

function RejectedReason({ error }: { error: unknown }) {
  return isApiError(error) ? <span>{[error.detail, error.fix].filter(Boolean).join(' ')}</span> : null
}

/** Returns the field that the app server has refused, so that the error is shown at this field. */
function rejectedField(error: unknown): 'repository' | 'branch' | 'directory' | 'budget' | null {
  if (!isApiError(error)) return null
  const fields = error.fieldErrors.flatMap((item) => item.loc)
  if (error.code.startsWith('repository_') || fields.includes('selected_repository')) return 'repository'
  if (error.code.startsWith('directory_') || fields.includes('selected_directory')) return 'directory'
  if (fields.includes('max_budget_per_task')) return 'budget'
  return error.code === 'branch_not_found' || fields.includes('selected_branch') ? 'branch' : null
}

/** Returns the active profile. Returns a recording only if there are no other profiles. */
function defaultProfile(profiles: LLMProfile[], active: string | null): string {
  const usable = profiles.filter((profile) => !profile.is_recording)
  const candidates = usable.length > 0 ? usable : profiles
  return (candidates.find((profile) => profile.name === active) ?? candidates[0])?.name ?? ''
}
