import { infiniteQueryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { components } from '@/api/schema.gen'

export type Job = components['schemas']['JobInfo']
export type JobState = Job['state']
export type JobPage = components['schemas']['JobPage']

const ROOT = '/api/v1/administration/jobs'
const PAGE_SIZE = 50
const REFRESH_MS = 10_000

/** The filter. A field that is left out allows all values. */
export interface JobFilter {
  state?: JobState
  kind?: string
}

/** The newest jobs first. Each page of the list also has the number of all jobs. */
export function jobsQuery(filter: JobFilter) {
  return infiniteQueryOptions({
    queryKey: ['jobs', filter] as const,
    queryFn: ({ signal, pageParam }) =>
      request<JobPage>(ROOT, { signal, query: { ...filter, limit: PAGE_SIZE, page_id: pageParam } }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_page_id,
    // Jobs change without an event for browsers, so the page loads them repeatedly while an administrator
    // looks at it.
    refetchInterval: REFRESH_MS,
  })
}

export type JobChange = 'retry' | 'cancel'

export function useChangeJob() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ id, change }: { id: string; change: JobChange }) =>
      request<Job>(`${ROOT}/${id}/${change}`, { method: 'POST' }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['jobs'] }),
  })
}
