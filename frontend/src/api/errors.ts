/** One rejected field of a request, from `errors` of an RFC 9457 problem document. */
export interface FieldError {
  loc: (string | number)[]
  msg: string
  type: string
}

/** The backup from which a conversation can continue, and the number of events after the backup. */
export interface OutdatedBackup {
  at: string
  laterEvents: number
}

/** A possible secret in a conversation that the user wants to share. */
export interface SecretFinding {
  id: string
  kind: string
  /** The name of the user's stored value that was found. Null if it is not a stored value. */
  name: string | null
  excerpt: string
  count: number
  /** The places of the secret. `seq` 0 is the title. */
  places: { seq: number; path: string }[]
}

/** The problem document (`application/problem+json`) that answers every failed request. */
export interface Problem {
  type?: string
  title?: string
  status?: number
  detail?: string
  code?: string
  fix?: string | null
  request_id?: string
  /** The last output of a program that did not start. */
  output?: string
  errors?: FieldError[]
  /** The time of a backup that is older than the log, and the number of events after it. */
  backup_at?: string
  later_events?: number
  /** The time at which a reached limit allows requests again. Null if that depends on what people do. */
  frees_at?: string | null
  /** The secrets in the content that the user wants to share. */
  findings?: SecretFinding[]
}

/**
 * A failed request. `status` 0 means that the app server was not reached. `detail` is a sentence for the
 * user. `fix` says what to do next, if the app server knows that.
 */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly fix: string | null
  readonly requestId: string | null
  readonly output: string | null
  readonly fieldErrors: FieldError[]
  readonly backup: OutdatedBackup | null
  /** The time at which a reached limit allows requests again. */
  readonly freesAt: string | null
  readonly findings: readonly SecretFinding[]
  /** True if the request can be sent again without a second effect. */
  readonly isIdempotent: boolean

  constructor(status: number, problem: Problem, { isIdempotent = false } = {}) {
    const detail = problem.detail || problem.title || `The server answered with status ${status}.`
    super(detail)
    this.name = 'ApiError'
    this.status = status
    this.isIdempotent = isIdempotent
    this.code = problem.code ?? `http_${status}`
    this.freesAt = problem.frees_at ?? null
    this.detail = detail
    this.fix = problem.fix ?? null
    this.requestId = problem.request_id ?? null
    this.output = problem.output || null
    this.fieldErrors = problem.errors ?? []
    this.backup = backupOf(problem)
    this.findings = problem.findings ?? []
  }

  get isNetworkFailure(): boolean {
    return this.status === 0
  }
}

function backupOf({ backup_at, later_events }: Problem): OutdatedBackup | null {
  return backup_at && later_events !== undefined ? { at: backup_at, laterEvents: later_events } : null
}

export function isApiError(error: unknown): error is ApiError {
  return error instanceof ApiError
}

/**
 * Returns the hint for a sleeping or lost sandbox. This state is normal and not an error. Returns null for
 * every other error.
 */
export function hintOfSleep(error: unknown): string | null {
  const isAsleep = isApiError(error) && (error.status === 409 || error.status === 410)
  return isAsleep ? error.detail : null
}

/** Returns the sentence to show for any thrown value. */
export function errorDetail(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
