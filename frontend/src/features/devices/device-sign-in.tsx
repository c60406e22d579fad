import { useEffect, useState, type FormEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { useAnswerDevice, useFindDevice } from '@/api/people/devices'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Notice } from '@/ui/feedback/notice'
import { DeviceRequest } from './device-request'

/** Asks for the code that a terminal shows. Then asks whether this terminal may sign in. */
export function DeviceSignIn({ codeInAddress }: { codeInAddress: string }) {
  const { t } = useTranslation()
  const [code, setCode] = useState(codeInAddress)
  const find = useFindDevice()
  const answer = useAnswerDevice()
  const { mutate: look } = find

  useEffect(() => {
    if (codeInAddress !== '') look(codeInAddress)
  }, [codeInAddress, look])

  function handleSubmit(event: FormEvent) {
    event.preventDefault()
    answer.reset()
    look(code)
  }

  if (answer.isSuccess) return <Answered isAllowed={answer.variables.isAllowed} />
  if (find.data) {
    return (
      <DeviceRequest
        device={find.data}
        code={find.variables}
        isBusy={answer.isPending}
        error={answer.error}
        onAnswer={(isAllowed) => answer.mutate({ userCode: find.variables, isAllowed })}
      />
    )
  }
  return (
    <form onSubmit={handleSubmit} noValidate className="flex flex-col gap-5">
      <p className="text-muted">{t('device.lead')}</p>
      <Field label={t('device.code')} hint={t('device.code_hint')}>
        {(ids) => (
          <Input
            {...ids}
            value={code}
            onChange={(event) => setCode(event.target.value)}
            autoComplete="off"
            autoCapitalize="characters"
            spellCheck={false}
            placeholder="BCDF-GHJK"
            className="font-mono tracking-widest uppercase"
          />
        )}
      </Field>
      {find.isError && <ErrorState error={find.error} title={t('device.not_found')} />}
      <Button
        type="submit"
        variant="primary"
        isBusy={find.isPending}
        disabled={code.trim() === ''}
        className="self-start"
      >
        {t('device.continue')}
      </Button>
    </form>
  )
}

function Answered({ isAllowed }: { isAllowed: boolean }) {
  const { t } = useTranslation()
  return (
    <Notice
      tone={isAllowed ? 'success' : 'neutral'}
      title={t(isAllowed ? 'device.allowed' : 'device.refused')}
    >
      {isAllowed ? (
        <>
          {t('device.allowed_text')}{' '}
          <Link to="/settings/api-keys" className="underline">
            {t('device.to_keys')}
          </Link>
        </>
      ) : (
        t('device.refused_text')
      )}
    </Notice>
  )
}
