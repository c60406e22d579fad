import { UserPlus } from 'lucide-react'
import { useQuery } from '@tanstack/react-query'
import { useForm, useWatch } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { type AssignableRole, useInvitePerson } from '@/api/people/people'
import { webClientConfigQuery } from '@/api/web-client-config'
import type { SignInLink, User } from '@/api/types'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'
import { assignableRoles } from './assignable-roles'

interface Values {
  name: string
  role: AssignableRole
  is_service: boolean
  email: string
}

export interface InviteFormProps {
  me: User
  onInvited: (name: string, link: SignInLink) => void
}

export function InviteForm({ me, onInvited }: InviteFormProps) {
  const { t } = useTranslation()
  const invite = useInvitePerson()
  const { register, handleSubmit, formState, reset, control } = useForm<Values>({
    defaultValues: { name: '', role: 'member', is_service: false, email: '' },
  })
  const role = useWatch({ control, name: 'role' })
  const isService = useWatch({ control, name: 'is_service' })
  const sendsMail = useQuery(webClientConfigQuery()).data?.sends_mail ?? false
  const submit = handleSubmit(({ name, role, is_service, email }) =>
    invite.mutate(
      { name: name.trim(), role, is_service, email: is_service ? '' : email.trim() },
      {
        onSuccess: ({ name: made, link }) => {
          reset()
          if (link !== null) onInvited(made, link)
        },
      },
    ),
  )
  return (
    <form onSubmit={(event) => void submit(event)} noValidate className="mb-5 flex flex-col gap-3">
      <div className="flex flex-wrap items-start gap-3">
        <Field
          label={t('people.name')}
          error={formState.errors.name && t('people.name_required')}
          className="min-w-44 flex-1"
        >
          {(ids) => (
            <Input
              {...ids}
              autoComplete="off"
              {...register('name', { validate: (name) => name.trim() !== '' })}
            />
          )}
        </Field>
        <Field label={t('people.role')} className="min-w-36">
          {(ids) => (
            <Select {...ids} {...register('role')}>
              {assignableRoles(me).map((one) => (
                <option key={one} value={one}>
                  {t(`people.role_${one}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      <p className="text-xs text-muted">{t(`people.may_${role}`)}</p>
      {sendsMail && !isService && (
        <Field
          label={t('people.email')}
          note={t('people.optional')}
          hint={t('people.email_hint')}
          error={formState.errors.email && t('people.email_invalid')}
        >
          {(ids) => (
            <Input
              {...ids}
              type="email"
              autoComplete="off"
              {...register('email', { validate: (email) => /^(\S+@\S+)?$/.test(email.trim()) })}
            />
          )}
        </Field>
      )}
      <label className="flex items-center gap-2 text-sm">
        <input type="checkbox" className="size-4 accent-accent" {...register('is_service')} />
        {t('service_accounts.make')}
      </label>
      <Button
        type="submit"
        variant="primary"
        icon={<UserPlus className="size-4" />}
        isBusy={invite.isPending}
        className="self-start"
      >
        {t('people.invite')}
      </Button>
      {invite.isError && <ErrorState error={invite.error} title={t('people.invite_failed')} />}
    </form>
  )
}
