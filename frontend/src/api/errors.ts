/** One rejected field of a request, as RFC 9457 problem `errors` carries it. */
export interface FieldError {
  loc: (string | number)[]
  msg: string
  type: string
}

/** The backup from which a conversation could continue, and the number of later events. */
export interface OutdatedBackup {
  at: string
  laterEvents: number
}

/** A possible secret in a conversation that the user wants to share. */
export interface SecretFinding {
  id: string
  kind: string
  /** Which of the user's stored values it is. */
  name: string | null
  excerpt: string
  count: number
  /** `seq` 0 is the title. */
  places: { seq: number; path: string }[]
}

/** The problem document (`application/problem+json`) every failed request answers with. */
export interface Problem {
  type?: string
  title?: string
  status?: number
  detail?: string
  code?: string
  fix?: string | null
  request_id?: string
  /** The last words of what did not start. */
  output?: string
  errors?: FieldError[]
  /** When the backup was taken that is older than the log, and how many events came after it. */
  backup_at?: string
  later_events?: number
  /** When a limit that is reached has room again; null if that depends on what people do. */
  frees_at?: string | null
  /** Secrets in what should be shared. */
  findings?: SecretFinding[]
}

/**
 * A request that failed. `status` 0 means the server was never reached.
 * `detail` is a sentence for people; `fix`, where the server knows one, says what to do next.
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
  /** When a limit that is reached has room again. */
  readonly freesAt: string | null
  readonly findings: readonly SecretFinding[]
  /** Whether the request may be sent again without doing its work twice. */
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

/** The sentence to show for any thrown value. */
export function errorDetail(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
