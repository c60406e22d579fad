import { ApiError, type Problem } from './errors'
import { pageProof, PROOF_HEADER } from './page-proof'

type QueryValue = string | number | boolean | null | undefined

export interface RequestOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /**
   * The parameters of the query. `null` and `undefined` are left out. An array repeats the name for each
   * value.
   */
  query?: Record<string, QueryValue | readonly QueryValue[]>
  headers?: Record<string, string>
  /** The body. It is sent as JSON. */
  body?: unknown
  /** A file that is sent unchanged in place of `body`, with the file's media type. */
  file?: Blob
  signal?: AbortSignal
  timeoutMs?: number
}

const DEFAULT_TIMEOUT_MS = 30_000

/**
 * Sends a request and returns the parsed JSON reply (`undefined` for 204). Throws `ApiError` if the request
 * fails.
 */
export async function request<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const response = await send(path, options)
  return (response.status === 204 ? undefined : await response.json()) as T
}

/** Sends a request and returns the reply as text, for routes that do not send JSON (`/git/patch`). */
export async function requestText(path: string, options: RequestOptions = {}): Promise<string> {
  return (await send(path, options)).text()
}

/** Sends a request and returns the reply as a Blob, for files. */
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

/** A proxy between the browser and the app server may answer with HTML. Then only the status is known. */
async function readProblem(response: Response): Promise<Problem> {
  if (!response.headers.get('content-type')?.includes('json')) return { title: response.statusText }
  const parsed: unknown = await response.json().catch(() => null)
  return typeof parsed === 'object' && parsed !== null ? (parsed as Problem) : { title: response.statusText }
}
