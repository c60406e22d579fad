import { ApiError, type Problem } from './errors'
import { pageProof, PROOF_HEADER } from './page-proof'

type QueryValue = string | number | boolean | null | undefined

export interface RequestOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** `null` and `undefined` are left out; arrays repeat the name. */
  query?: Record<string, QueryValue | readonly QueryValue[]>
  headers?: Record<string, string>
  /** Sent as JSON. */
  body?: unknown
  /** Sent as it is, in place of a body, under its own type. */
  file?: Blob
  signal?: AbortSignal
  timeoutMs?: number
}

const DEFAULT_TIMEOUT_MS = 30_000

/** The parsed JSON reply (`undefined` for 204). Throws `ApiError` for everything else. */
export async function request<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const response = await send(path, options)
  return (response.status === 204 ? undefined : await response.json()) as T
}

/** The reply as text, for routes that do not speak JSON (`/git/patch`). */
export async function requestText(path: string, options: RequestOptions = {}): Promise<string> {
  return (await send(path, options)).text()
}

/** The reply as it came, for files. */
export async function requestBlob(path: string, options: RequestOptions = {}): Promise<Blob> {
  return (await send(path, options)).blob()
}

async function send(path: string, options: RequestOptions): Promise<Response> {
  const timeout = AbortSignal.timeout(options.timeoutMs ?? DEFAULT_TIMEOUT_MS)
  const hasBody = options.body !== undefined
  const proof = pageProof()
  let response: Response
  try {
    response = await fetch(buildUrl(path, options.query), {
      method: options.method ?? 'GET',
      credentials: 'same-origin',
      headers: {
        Accept: 'application/json',
        ...(proof && { [PROOF_HEADER]: proof }),
        ...options.headers,
        ...(hasBody && { 'Content-Type': 'application/json' }),
        ...(options.file && { 'Content-Type': options.file.type || 'application/octet-stream' }),
      },
      body: hasBody ? JSON.stringify(options.body) : options.file,
      signal: options.signal ? AbortSignal.any([options.signal, timeout]) : timeout,
    })
  } catch (cause) {
    if (options.signal?.aborted) throw cause
    throw unreachable(timeout.aborted, options.method !== 'POST')
  }
  if (!response.ok) throw new ApiError(response.status, await readProblem(response))
  return response
}

function buildUrl(path: string, query: RequestOptions['query']): URL {
  const url = new URL(path, window.location.origin)
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== null && item !== undefined) url.searchParams.append(name, String(item))
    }
  }
  return url
}

function unreachable(timedOut: boolean, isIdempotent: boolean): ApiError {
  const problem = {
    code: timedOut ? 'timeout' : 'unreachable',
    detail: timedOut ? 'The server took too long to answer.' : 'The server cannot be reached.',
    fix: 'Check that Slipway is running, then try again.',
  }
  return new ApiError(0, problem, { isIdempotent })
}

/** A proxy in between may answer with HTML; then only the status is known. */
async function readProblem(response: Response): Promise<Problem> {
  if (!response.headers.get('content-type')?.includes('json')) return { title: response.statusText }
  const parsed: unknown = await response.json().catch(() => null)
  return typeof parsed === 'object' && parsed !== null ? (parsed as Problem) : { title: response.statusText }
}
